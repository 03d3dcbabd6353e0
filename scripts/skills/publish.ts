/** Puts a bundle into KV on this machine, as `npm start` does. */
import type { Bundle } from './bundle.ts';
import { publishRelease } from './releases.ts';
import { withStore } from './store.ts';

/** `persistTo` is as wrangler's `--persist-to`. */
export async function publishLocal(bundle: Bundle, persistTo: string): Promise<void> {
  await withStore({ kind: 'local', persistTo }, (store) => publishRelease(store, bundle));
}
