/**
 * Which skills the turns of a session used, from its log to the tenant's directory. What a turn used is kept in a row
 * from the block of writes that ends the turn until the directory has it, so it is told at least once; the directory
 * takes the same use twice.
 */
import { z } from 'zod';
import { type SkillUse, skillUse } from './rpc.ts';
import { loadedSkill, SKILL_TOOL } from './skills/index.ts';
import type { SessionState, SqlPort } from './storage/index.ts';
import type { Log, LogEvent, RequestHeader } from './transcript/index.ts';

export interface SkillUses {
  /** Hands over what the directory does not know yet; nothing where there is nothing. Rejects with `record`. */
  tell: (record: (uses: SkillUse[]) => Promise<void>) => Promise<void>;
}

/** A use in the open turn. A gesture's header follows it in the log: its request's seq says how far to look. */
interface OpenUse extends Pick<SkillUse, 'name' | 'turn' | 'at' | 'how' | 'digest'> {
  upTo: number | null;
}

const TYPES = ['turn/start', 'user/message', 'request/attempt', 'tool/result', 'turn/end'] as const;
const kept = z.array(skillUse);

export function createSkillUses(sql: SqlPort, log: Log, readState: () => SessionState): SkillUses {
  let open: OpenUse[] = [];
  /** False once nothing is known to wait. */
  let mayWait = true;
  let isTelling = false;
  const { openTurnSeq } = readState();
  if (openTurnSeq > 0) open = log.read(openTurnSeq, log.lastSeq(), TYPES).reduce(foldUses, []);

  log.observe(
    (committed) => {
      open = committed.reduce((uses, { event }) => foldUses(uses, event), open);
    },
    undefined,
    (committed) => {
      let used = open;
      for (const { event } of committed) {
        used = foldUses(used, event);
        if (event.type !== 'turn/end' || used.length === 0) continue;
        const uses = used.map((use) => toUse(use, findHeader(use.upTo ?? event.seq)));
        sql.run('INSERT INTO uses (turn, uses) VALUES (?, ?)', event.turn, JSON.stringify(uses));
        mayWait = true;
      }
    },
  );

  const findHeader = (upTo: number): RequestHeader | null => {
    const { headerSeq } = readState();
    const [newest] = headerSeq > 0 ? log.read(headerSeq, headerSeq) : [];
    const event = newest && newest.seq <= upTo ? newest : log.newestBefore('request/header', upTo);
    return event?.type === 'request/header' ? event.header : null;
  };

  return {
    async tell(record) {
      if (!mayWait || isTelling) return;
      mayWait = false;
      const rows = sql.all<{ turn: number; uses: string }>('SELECT turn, uses FROM uses ORDER BY turn');
      const last = rows.at(-1);
      if (last === undefined) return;
      isTelling = true;
      try {
        await record(rows.flatMap(({ uses }) => kept.parse(JSON.parse(uses))));
        sql.run('DELETE FROM uses WHERE turn <= ?', last.turn);
      } catch (error) {
        mayWait = true;
        throw error;
      } finally {
        isTelling = false;
      }
    },
  };
}

/** The uses of the open turn after one more event. */
function foldUses(open: OpenUse[], event: LogEvent): OpenUse[] {
  switch (event.type) {
    case 'turn/start':
      return [];
    case 'user/message': {
      const { turn, at, message } = event;
      if (message.source.kind !== 'skill-invocation') return open;
      const { name, digest } = message.source;
      return [...open, { name, turn, at, how: 'gesture', digest, upTo: null }];
    }
    case 'request/attempt':
      return open.map((use) => (use.upTo === null ? { ...use, upTo: event.seq } : use));
    case 'tool/result': {
      const loaded = event.name === SKILL_TOOL ? loadedSkill.safeParse(event.facts) : null;
      if (event.error !== undefined || !loaded?.success) return open;
      const { turn, at, seq } = event;
      return [
        ...open,
        { name: loaded.data.skill, turn, at, how: 'tool', digest: loaded.data.digest, upTo: seq },
      ];
    }
    default:
      return open;
  }
}

function toUse({ upTo: _, ...use }: OpenUse, header: RequestHeader | null): SkillUse {
  return {
    ...use,
    manifest: header?.skills.manifest ?? null,
    tenant_manifest: header?.skills.tenant ?? null,
  };
}
