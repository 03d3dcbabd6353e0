/** The provider's end of the line: it counts and checks what is asked, before it thinks of an answer. */
import { checkRequest, createRequestRecord, type RequestRecord } from './check-request.ts';
import type { Clock, Life } from './clock.ts';
import type { ModelLine } from './models.ts';
import type { Complain } from './problems.ts';
import type { Disk } from './storage.ts';

interface Asker {
  name: string;
  disk: Disk;
  sendOut: (life: Life, send: () => void) => void;
}

export interface ProviderSide {
  openFor: (life: Life, from: Asker) => ModelLine;
  /** What an object has asked so far. */
  recordOf: (from: { name: string }) => RequestRecord;
  requests: () => number;
  /** From here on it only answers. */
  calm: () => void;
}

const LATENCY_MS = 6;

export function createProviderSide(clock: Clock, complain: Complain): ProviderSide {
  const records = new Map<string, RequestRecord>();
  /** How often the same was asked. */
  const asked = new Map<string, number>();
  let requests = 0;
  let isCalm = false;

  const recordOf: ProviderSide['recordOf'] = ({ name }) => {
    const known = records.get(name);
    if (known) return known;
    const made = createRequestRecord();
    records.set(name, made);
    return made;
  };
  return {
    recordOf,
    requests: () => requests,
    calm() {
      isCalm = true;
    },
    openFor: (life, from) => ({
      ask: (options) =>
        new Promise((resolve) => {
          from.sendOut(life, () => {
            requests++;
            checkRequest(from, recordOf(from), options, clock.now(), complain);
            const key = `${from.name} ${JSON.stringify(options.prompt).length} ${options.prompt.length}`;
            const ordinal = (asked.get(key) ?? 0) + 1;
            asked.set(key, ordinal);
            clock.after(LATENCY_MS, life, () => resolve({ ordinal, isCalm }));
          });
        }),
      wait: (ms) => new Promise((resolve) => void clock.after(ms, life, () => resolve())),
    }),
  };
}
