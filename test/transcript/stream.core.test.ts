import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { migrate, type SqlPort } from '../../durable/storage/index.ts';
import { createStreamBuffer, type StreamBuffer } from '../../durable/transcript/stream.ts';
import { createSqlitePort } from '../../scripts/local/sqlite-port.ts';
import { chooseSeed, createRandom } from '../support/random.ts';

const LOG = { observe: () => undefined };

function openTable() {
  const inner = createSqlitePort(new DatabaseSync(':memory:'));
  migrate(inner);
  let writes = 0;
  const count = (query: string): void => {
    if (!query.startsWith('SELECT')) writes += 1;
  };
  const sql: SqlPort = {
    ...inner,
    all: (query, ...bindings) => {
      count(query);
      return inner.all(query, ...bindings);
    },
    run: (query, ...bindings) => {
      count(query);
      inner.run(query, ...bindings);
    },
  };
  return { sql, writes: () => writes };
}

const join = (buffer: StreamBuffer, kind: 'text' | 'reasoning' = 'text'): string =>
  buffer
    .soFar()
    .map((frame) => (frame.frame === 'delta' && frame.kind === kind ? frame.text : ''))
    .join('');

describe('the text of an answer in progress', () => {
  it('is kept by a restart but for what came since it was last written: a gap of time, and 4 KB', () => {
    const random = createRandom(chooseSeed());
    const { sql } = openTable();
    let now = 0;
    const buffer = createStreamBuffer(sql, LOG, () => now);
    buffer.begin(1, 1, 1);
    /** When each unit of the text came. */
    const came: number[] = [];
    for (let i = 0; i < 3_000; i++) {
      now += random.below(random.next() < 0.01 ? 10_000 : 40);
      const piece = 'x'.repeat(1 + random.below(random.next() < 0.01 ? 9_000 : 30));
      buffer.push('text', piece);
      for (let unit = 0; unit < piece.length; unit++) came.push(now);
      const kept = join(createStreamBuffer(sql, LOG, () => now)).length;
      const ahead = came.slice(kept);
      expect(ahead.length).toBeLessThan(4_096);
      const gap = Math.min(5_000, 50 + now / 4);
      expect(now - (ahead[0] ?? now)).toBeLessThanOrEqual(gap);
      expect(join(buffer)).toHaveLength(came.length);
    }
  });

  it('of 2,000 pieces is written some forty times, however fast they come', () => {
    for (const pauseMs of [1, 5, 20, 50]) {
      const { sql, writes } = openTable();
      let now = 0;
      const buffer = createStreamBuffer(sql, LOG, () => now);
      const before = writes();
      buffer.begin(1, 1, 1);
      for (let i = 0; i < 2_000; i++) {
        now += pauseMs;
        buffer.push('text', 'word ');
      }
      buffer.clear();
      expect(writes() - before).toBeLessThanOrEqual(40);
    }
  });

  it('comes out of the rows as it went in, whatever pieces it came in', () => {
    const random = createRandom(chooseSeed());
    const { sql } = openTable();
    let now = 0;
    const buffer = createStreamBuffer(sql, LOG, () => now);
    buffer.begin(2, 3, 2);
    const said = { text: '', reasoning: '' };
    for (let i = 0; i < 200; i++) {
      now += random.below(200);
      const kind = random.next() < 0.3 ? 'reasoning' : 'text';
      const whole = random.pick(['👩‍🚀 flies ', '会話', 'plain words ', '\n"quoted" ']);
      const at = random.below(whole.length);
      for (const piece of [whole.slice(0, at), whole.slice(at)].filter((text) => text !== '')) {
        buffer.push(kind, piece);
        now += random.below(300);
      }
      said[kind] += whole;
    }
    buffer.flush();
    const restarted = createStreamBuffer(sql, LOG, () => now);
    expect(join(restarted)).toBe(said.text);
    expect(join(restarted, 'reasoning')).toBe(said.reasoning);
    const [restart, ...deltas] = restarted.soFar();
    expect(restart).toEqual({ frame: 'restart', turn: 2, step: 3, attempt: 2 });
    const sent = { text: 0, reasoning: 0 };
    for (const frame of deltas) {
      if (frame.frame !== 'delta') throw new Error('a second restart');
      expect(frame.offset).toBe(sent[frame.kind]);
      sent[frame.kind] += frame.text.length;
    }
  });

  it('waits with one half of a pair of surrogates for the other', () => {
    const { sql } = openTable();
    const buffer = createStreamBuffer(sql, LOG, () => 0);
    buffer.begin(1, 1, 1);
    buffer.push('text', 'a\ud83d');
    buffer.flush();
    expect(join(createStreamBuffer(sql, LOG, () => 0))).toBe('a');
    buffer.push('text', '\ude80b');
    buffer.flush();
    expect(join(createStreamBuffer(sql, LOG, () => 0))).toBe('a🚀b');
  });

  it('is gone with its attempt, and is there again where the commit that ended it failed', () => {
    const { sql } = openTable();
    let rollBack: (() => void) | undefined;
    const log = {
      observe: (_: unknown, onRollback?: () => void) => {
        rollBack = onRollback;
      },
    };
    const buffer = createStreamBuffer(sql, log, () => 0);
    buffer.begin(1, 1, 1);
    buffer.push('text', 'kept');
    buffer.flush();
    expect(() =>
      sql.atomically(() => {
        buffer.clear();
        throw new Error('the disk is full');
      }),
    ).toThrow('the disk is full');
    expect(buffer.soFar()).toEqual([]);
    rollBack?.();
    expect(join(buffer)).toBe('kept');
    buffer.begin(1, 1, 2);
    expect(buffer.soFar()).toEqual([{ frame: 'restart', turn: 1, step: 1, attempt: 2 }]);
    buffer.push('text', 'new');
    buffer.flush();
    expect(join(createStreamBuffer(sql, LOG, () => 0))).toBe('new');
    buffer.clear();
    expect(createStreamBuffer(sql, LOG, () => 0).soFar()).toEqual([]);
  });
});
