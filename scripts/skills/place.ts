/** What the commands of the skills read from their arguments. Each throws a sentence for the terminal. */
import type { StorePlace } from './store.ts';

export function readPlace(values: { local: boolean; remote: boolean; 'persist-to': string }): StorePlace {
  if (values.local && values.remote) throw new Error('Choose --local or --remote.');
  return values.remote ? { kind: 'remote' } : { kind: 'local', persistTo: values['persist-to'] };
}

/** Over 0, up to 100. */
export function parsePercent(text: string): number {
  const percent = /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (percent > 0 && percent <= 100) return percent;
  throw new Error(`A share is a number of percent, over 0 and up to 100, not ${JSON.stringify(text)}.`);
}

/** At least 0. */
export function parseCount(text: string, what: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new Error(`${what} is a number, not ${JSON.stringify(text)}.`);
}
