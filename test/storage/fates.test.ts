import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createBlobs, createSqlPort, FATE_KEY, FATE_TYPES, migrate } from '../../durable/storage/index.ts';
import { createLog } from '../../durable/transcript/index.ts';

const { SESSIONS } = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() }).parse(env);

it('finds what became of a message in a long log by reading a few rows', async () => {
  const stub = SESSIONS.get(SESSIONS.newUniqueId());
  await runInDurableObject(stub, (_, { storage }) => {
    const sql = createSqlPort(storage);
    migrate(sql);
    storage.sql.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO events (seq, at, type, data) SELECT i, 0,
        CASE i % 2 WHEN 0 THEN 'inbox/admitted' ELSE 'step/end' END,
        CASE i % 2 WHEN 0 THEN json_object('type', 'inbox/admitted', 'message', 'msg_' || i, 'delivery', 'followup',
          'source', json_object('kind', 'user'), 'wakes', json('true'))
        ELSE json_object('type', 'step/end', 'turn', 1, 'step', 1) END FROM n`);
    storage.sql.exec(`INSERT INTO events (seq, at, type, data) VALUES (20001, 0, 'inbox/discarded',
      json_object('type', 'inbox/discarded', 'message', json_object('id', 'msg_10000')))`);
    // A row that a fault left is in nobody's way.
    storage.sql.exec("UPDATE events SET data = 'no json' WHERE seq = 4");
    const log = createLog(sql, createBlobs(sql), Date.now);
    expect(log.fateOf('msg_19998')).toEqual({ admitted: 19_998, isDiscarded: false });
    expect(log.fateOf('msg_10000')).toEqual({ admitted: 10_000, isDiscarded: true });
    expect(log.fateOf('msg_4')).toBeNull();
    expect(log.fateOf('msg_none')).toBeNull();
    const cursor = storage.sql.exec(
      `SELECT seq, type FROM events WHERE ${FATE_TYPES} AND ${FATE_KEY} = ? ORDER BY seq`,
      'msg_10000',
    );
    cursor.toArray();
    expect(cursor.rowsRead).toBeLessThan(10);
  });
});
