import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createBlobs,
  createSqlPort,
  isInitialised,
  migrate,
  type SqlPort,
} from '../../durable/storage/index.ts';
import {
  createLog,
  createSurface,
  type EventBody,
  type MessageId,
  type Seq,
} from '../../durable/transcript/index.ts';

const { SESSIONS } = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() }).parse(env);

/** Runs on the real SQLite of an object that holds nothing yet. */
function onStorage<T>(work: (sql: SqlPort, storage: DurableObjectStorage) => T): Promise<T> {
  const stub = SESSIONS.get(SESSIONS.newUniqueId());
  return runInDurableObject(stub, (_, state) => {
    const sql = createSqlPort(state.storage);
    migrate(sql);
    return work(sql, state.storage);
  });
}

const said = (text: string, replace: number[] = []): EventBody => ({
  type: 'user/message',
  turn: 1,
  message: {
    id: text.slice(0, 5) as MessageId,
    role: 'user',
    source: { kind: 'user' },
    content: [{ type: 'text', text }],
  },
  surface: replace.length > 0 ? { replace: replace.map((seq) => seq as Seq) } : 'append',
});

describe('the log', () => {
  it('numbers events from 1 without a gap, also when it is opened again', () =>
    onStorage((sql) => {
      const blobs = createBlobs(sql);
      const log = createLog(sql, blobs, () => 7);
      log.commit((append) => [append(said('a')), append(said('b'))]);
      const again = createLog(sql, blobs, () => 8);
      again.commit((append) => append(said('c')));
      expect(again.read(1, 9).map(({ seq, at }) => [seq, at])).toEqual([
        [1, 7],
        [2, 7],
        [3, 8],
      ]);
    }));

  it('keeps all of a commit that fails out, and tells those who keep copies', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      let committed = 0;
      let rolledBack = 0;
      log.observe(
        () => void committed++,
        () => void rolledBack++,
      );
      expect(() =>
        log.commit((append) => {
          append(said('lost'));
          throw new Error('the disk is full');
        }),
      ).toThrow('the disk is full');
      log.commit((append) => append(said('kept')));
      expect([committed, rolledBack, log.lastSeq()]).toEqual([1, 1, 1]);
      expect(JSON.stringify(log.read(1, 9))).not.toContain('lost');
    }));

  it('splits an event over a megabyte over blob rows and gives it back whole', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      const text = `${'界'.repeat(700_000)}!`;
      log.commit((append) => append(said(text)));
      expect(JSON.stringify(log.read(1, 1)[0])).toContain(text);
      expect(log.page({ after: 0, limit: 1, types: null }).events[0]).toContain(text);
      expect(sql.all('SELECT 1 FROM blobs').length).toBeGreaterThan(1);
    }));

  it('refuses a value past the ceiling, naming it, and keeps nothing of it', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      expect(() => log.commit((append) => append(said('x'.repeat(17_000_000))))).toThrow('16000000');
      expect(log.lastSeq()).toBe(0);
      expect(sql.all('SELECT 1 FROM blobs')).toEqual([]);
    }));

  it('pages by seq and by type, to the end and no further', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      log.commit((append) => {
        for (let i = 0; i < 5; i++) append(said(`m${i}`));
        append({ type: 'turn/start', turn: 1 });
      });
      expect(log.page({ after: 0, limit: 4, types: null })).toMatchObject({ next: 4 });
      expect(log.page({ after: 4, limit: 4, types: null }).next).toBeNull();
      expect(log.page({ after: 0, limit: 9, types: ['turn/start'] }).events).toHaveLength(1);
      expect(log.page({ after: 99, limit: 9, types: null })).toEqual({ events: [], next: null });
    }));
});

describe('the surface', () => {
  it('holds what is appended and, after a replacement, the same live and when read again', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      const surface = createSurface(sql, log);
      const textsOf = (events: readonly { type: string }[]) => JSON.stringify(events).match(/"text":"\w+"/g);
      expect(surface.events()).toEqual([]);
      log.commit((append) => ['a', 'b', 'c', 'd'].map((text) => append(said(text))));
      log.commit((append) => append(said('summary', [1, 2, 3])));
      log.commit((append) => append(said('e')));
      const texts = ['"text":"summary"', '"text":"d"', '"text":"e"'];
      expect(textsOf(surface.events())).toEqual(texts);
      expect(textsOf(createSurface(sql, log).events())).toEqual(texts);
      expect(surface.generation()).toBe(1);
      expect(log.read(1, 9)).toHaveLength(6); // the log itself loses nothing
    }));

  it('does not show what a replacement hid: a catalog that compaction took away is published again', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      const surface = createSurface(sql, log);
      const catalog: EventBody = {
        type: 'user/message',
        turn: 1,
        message: {
          id: 'catalog' as MessageId,
          role: 'user',
          source: { kind: 'skill-catalog', form: 'catalog', entries: ['alpha'], digest: 'd' },
          content: [{ type: 'text', text: 'alpha' }],
        },
        surface: 'append',
      };
      expect(surface.events()).toEqual([]);
      log.commit((append) => [append(catalog), append(said('a'))]);
      expect(surface.lastOfKind('skill-catalog')?.seq).toBe(1);
      log.commit((append) => append(said('summary', [1, 2])));
      expect(surface.lastOfKind('skill-catalog')).toBeUndefined();
      expect(surface.lastOfKind('user')?.seq).toBe(3);
      // And the log still has it.
      expect(log.read(1, 1)[0]?.type).toBe('user/message');
    }));

  it('costs an append no row beside the event', () =>
    onStorage((sql) => {
      const log = createLog(sql, createBlobs(sql), () => 0);
      const before = sql.rowsWritten();
      log.commit((append) => append(said('a')));
      expect(sql.rowsWritten() - before).toBe(1);
    }));
});

it('a database is brought to the newest version once, and asking whether there is one leaves no trace', async () => {
  const stub = SESSIONS.get(SESSIONS.newUniqueId());
  await runInDurableObject(stub, (_, state) => {
    const sql = createSqlPort(state.storage);
    expect(isInitialised(sql)).toBe(false);
    expect(sql.all('SELECT name FROM sqlite_master')).toEqual([]);
    migrate(sql);
    const written = sql.rowsWritten();
    migrate(sql);
    expect(sql.rowsWritten()).toBe(written);
    expect(isInitialised(sql)).toBe(true);
  });
});
