/** When to stop: a signal, or the end of whoever started this. */

const WATCH_MS = 500;
/** With the exit codes that shells expect of them. */
const SIGNALS: ReadonlyMap<NodeJS.Signals, number> = new Map([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
]);
const ORPHANED = 143;

/**
 * Calls `stop` once, with an exit code. npm, when it is itself told to end, leaves its script running: under npm the
 * end of the parent counts as well. Returns what takes the watch off again.
 */
export function onStop(stop: (code: number) => void): () => void {
  let isStopping = false;
  const stopOnce = (code: number): void => {
    if (isStopping) return;
    isStopping = true;
    stop(code);
  };
  const onSignal = (signal: NodeJS.Signals): void => stopOnce(SIGNALS.get(signal) ?? 1);
  for (const signal of SIGNALS.keys()) process.on(signal, onSignal);

  const parent = process.ppid;
  const isUnderNpm = process.env['npm_lifecycle_event'] !== undefined;
  const watch = setInterval(() => {
    if (isUnderNpm && process.ppid !== parent) stopOnce(ORPHANED);
  }, WATCH_MS);
  watch.unref();
  return () => {
    for (const signal of SIGNALS.keys()) process.off(signal, onSignal);
    clearInterval(watch);
  };
}
