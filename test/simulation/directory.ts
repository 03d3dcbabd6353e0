/** The tenant's directory as its sessions see it: reached over the net, at times down. */
import type { DirectoryRpc, SessionListing, SkillUse } from '../../durable/rpc.ts';
import type { Life } from './clock.ts';
import type { Reach } from './reach.ts';

export interface SimulatedDirectory {
  openFor: (life: Life, reach: Reach) => Pick<DirectoryRpc, 'add' | 'remove' | 'recordUses'>;
  setDownUntil: (at: number) => void;
  listed: ReadonlyMap<string, SessionListing>;
  uses: ReadonlyMap<string, SkillUse>;
}

const LATENCY_MS = 4;

export function createDirectory(now: () => number): SimulatedDirectory {
  const listed = new Map<string, SessionListing>();
  const uses = new Map<string, SkillUse>();
  let downUntil = 0;
  const checkUp = (): void => {
    if (now() < downUntil) throw new Error('the directory cannot be reached');
  };
  return {
    listed,
    uses,
    setDownUntil(at) {
      downUntil = at;
    },
    openFor: (life, reach) => ({
      add: (listing) =>
        reach(life, LATENCY_MS, () => {
          checkUp();
          listed.set(listing.id, listing);
        }),
      remove: (id) =>
        reach(life, LATENCY_MS, () => {
          checkUp();
          listed.delete(id);
        }),
      recordUses: (session, told) =>
        reach(life, LATENCY_MS, () => {
          checkUp();
          for (const use of told) uses.set(`${session} ${use.turn} ${use.name} ${use.how}`, use);
        }),
    }),
  };
}
