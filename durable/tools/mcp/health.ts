/** How a server stands, for all sessions of this process: plain data, since no connection outlives its session. */
import type { McpChange, McpLimits } from './types.ts';

export interface Health {
  /** Failures in a row; a step waits for no server that failed last. */
  failures: () => number;
  /** Whether it may be asked again. */
  mayTry: () => boolean;
  failed: (reason: string) => void;
  /** It cannot be asked at all here: its credentials are missing. */
  unusable: (reason: string) => void;
  /** `notes`: what of its list is left out. */
  succeeded: (notes: readonly string[]) => void;
}

export function createHealth(
  server: string,
  limits: McpLimits,
  now: () => number,
  report: (change: McpChange) => void,
): Health {
  let failures = 0;
  let retryAt = 0;
  let told = '';
  const tell = (state: McpChange['state'], detail: string): void => {
    // Once a change: a server that stays down fills no log.
    if (told === `${state} ${detail}`) return;
    const isFirst = told === '';
    told = `${state} ${detail}`;
    if (!isFirst || state === 'down' || detail !== '') report({ server, state, detail });
  };
  return {
    failures: () => failures,
    mayTry: () => failures === 0 || now() >= retryAt,
    failed(reason) {
      failures += 1;
      retryAt = now() + Math.min(limits.backOffMs * 2 ** (failures - 1), limits.backOffCapMs);
      tell('down', reason);
    },
    unusable: (reason) => tell('down', reason),
    succeeded(notes) {
      failures = 0;
      tell('up', notes.join(' '));
    },
  };
}
