/** What gets in while an object is delayed at a point: somebody else's request, acknowledged before it goes on. */
import type { World } from './world.ts';

const RACES: readonly ((world: World) => Promise<unknown>)[] = [
  ({ client }) => client.cancel(),
  ({ client }) => client.send('a steer that races', 'steer'),
  async ({ client }) => {
    const [first] = client.ledger.sent;
    if (first) await client.sendAgain(first.id);
  },
  async ({ client }) => {
    const newest = client.ledger.sent.at(-1);
    if (newest) await client.discard(newest.id);
  },
  ({ client }) => client.send('a prompt that races'),
  ({ client }) => client.cancel({ clear: true }),
  ({ client }) => client.send('an inject that races', 'inject'),
];

/** Longer than the object is delayed: a request that waits for the point itself is answered after it. */
const PATIENCE_MS = 100;

/** The n-th of them, by turns. `done` is called when it was acknowledged, or cannot be while the object waits. */
export async function race(world: World, n: number, done: () => void): Promise<void> {
  const run = RACES[n % RACES.length];
  const racing = run?.(world).catch(() => 'its outcome is in the ledger');
  await Promise.race([racing, scheduler.wait(PATIENCE_MS)]);
  done();
  await racing;
}
