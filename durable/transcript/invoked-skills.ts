/**
 * The skills that people have invoked in a session: from the log, and not from the surface, because what a person
 * opened stays open when a summary takes its place.
 */
import type { LogEvent } from './events.ts';
import type { Log } from './log.ts';

/** Events looked through at once: bounds the memory of reading a log of any length. */
const PAGE = 2_000;

/** Reads the log when it is first asked, and follows it from there. */
export function createInvokedSkills(log: Log): () => ReadonlySet<string> {
  let names: Set<string> | null = null;
  log.observe((committed) => {
    if (names) for (const { event } of committed) addInvoked(names, event);
  });
  return () => {
    names ??= readInvoked(log);
    return names;
  };
}

function readInvoked(log: Log): Set<string> {
  const names = new Set<string>();
  for (let first = 1; first <= log.lastSeq(); first += PAGE) {
    for (const event of log.read(first, first + PAGE - 1, ['user/message'])) addInvoked(names, event);
  }
  return names;
}

function addInvoked(names: Set<string>, event: LogEvent): void {
  if (event.type !== 'user/message') return;
  const { source } = event.message;
  if (source.kind === 'skill-invocation') names.add(source.name);
}
