import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Directory } from '../../durable/directory.ts';

const bindings = z.object({ DIRECTORIES: z.custom<DurableObjectNamespace<Directory>>() }).parse(env);
const fresh = () => bindings.DIRECTORIES.getByName(crypto.randomUUID());
const listing = (id: string, created_at: number) => ({ id, agent: 'a', created_at, metadata: { of: id } });

describe('the directory', () => {
  it('lists the newest first, and by id where two are as old', async () => {
    const directory = fresh();
    for (const [id, at] of [
      ['a', 1],
      ['c', 2],
      ['b', 2],
      ['d', 3],
    ] as const)
      await directory.add(listing(id, at));
    await directory.add(listing('a', 9));
    const page = await directory.list({ limit: 10, after: null });
    expect(page).toEqual({
      data: [listing('d', 3), listing('c', 2), listing('b', 2), listing('a', 1)],
      next: null,
    });
  });

  it('goes on behind a cursor whose session was erased, and before one that was made since', async () => {
    const directory = fresh();
    for (let i = 1; i <= 4; i++) await directory.add(listing(`s${i}`, i));
    const first = await directory.list({ limit: 2, after: null });
    expect(first.data.map(({ id }) => id)).toEqual(['s4', 's3']);
    await directory.remove('s3');
    await directory.add(listing('s5', 5));
    const second = await directory.list({ limit: 2, after: first.next });
    expect(second.data.map(({ id }) => id)).toEqual(['s2', 's1']);
    expect(second.next).toBeNull();
  });

  it('binds a key to one session and one body, until long after the last retry', async () => {
    const directory = fresh();
    const claim = { key: 'k', digest: 'd1' };
    expect(await directory.claimKey(claim, 'first')).toBe('first');
    expect(await directory.claimKey(claim, 'second')).toBe('first');
    expect(await directory.claimKey({ key: 'k', digest: 'd2' }, 'third')).toBeNull();
    await runInDurableObject(directory, (_, { storage }) => {
      storage.sql.exec('UPDATE claims SET at = at - ?', 8 * 24 * 60 * 60 * 1000);
    });
    expect(await directory.claimKey({ key: 'k', digest: 'd2' }, 'fourth')).toBe('fourth');
  });

  it('keeps what it has when it starts again', async () => {
    const directory = fresh();
    await directory.add(listing('a', 1));
    await runInDurableObject(directory, (_, { storage }) => {
      expect(storage.sql.exec('SELECT version FROM schema').toArray()).toEqual([{ version: 2 }]);
    });
    expect((await directory.list({ limit: 1, after: null })).data).toEqual([listing('a', 1)]);
  });
});
