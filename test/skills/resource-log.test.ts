/** What people invoked is known from the log, however long it is and whatever the model still sees of it. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createBlobs, createSqlPort, migrate } from '../../durable/storage/index.ts';
import {
  createInvokedSkills,
  createLog,
  createSurface,
  type EventBody,
  type Log,
  userMessage,
} from '../../durable/transcript/index.ts';

const { SESSIONS } = z.object({ SESSIONS: z.custom<DurableObjectNamespace>() }).parse(env);

function onLog<T>(work: (open: () => Log, surfaceOf: (log: Log) => number) => T): Promise<T> {
  const stub = SESSIONS.get(SESSIONS.newUniqueId());
  return runInDurableObject(stub, (_, state) => {
    const sql = createSqlPort(state.storage);
    migrate(sql);
    const open = () => createLog(sql, createBlobs(sql), () => 1);
    return work(open, (log) => createSurface(sql, log).events().length);
  });
}

function said(source: object, surface: 'append' | { replace: number[] } = 'append'): EventBody {
  const content = [{ type: 'text', text: 'x' }];
  const message = userMessage.parse({ id: 'm', role: 'user', source, content });
  const seqs = z.union([z.literal('append'), z.object({ replace: z.array(z.number().brand<'Seq'>()) })]);
  return { type: 'user/message', turn: 1, message, surface: seqs.parse(surface) };
}
const invoked = (name: string) => said({ kind: 'skill-invocation', name, form: 'instructions', digest: 'd' });

it('a skill that a person invoked stays open when something else took its place on the surface', async () => {
  const [names, visible] = await onLog((open, surfaceOf) => {
    const log = open();
    log.commit((append) => {
      append(said({ kind: 'user' }));
      append(invoked('alpha'));
    });
    log.commit((append) => append(said({ kind: 'plugin', name: 'summary' }, { replace: [1, 2] })));
    return [[...createInvokedSkills(open())()], surfaceOf(log)] as const;
  });
  expect(visible).toBe(1);
  expect(names).toEqual(['alpha']);
});

it('follows the log once it was asked, and takes no other message for an invocation', async () => {
  const seen = await onLog((open) => {
    const log = open();
    const read = createInvokedSkills(log);
    const before = [...read()];
    log.commit((append) => append(invoked('alpha')));
    log.commit((append) => append(said({ kind: 'plugin', name: 'beta' })));
    expect(() =>
      log.commit((append) => {
        append(invoked('undone'));
        throw new Error('the disk is full');
      }),
    ).toThrow('the disk is full');
    return [before, [...read()]];
  });
  expect(seen).toEqual([[], ['alpha']]);
});

it('is found in a log of any length', async () => {
  const names = await onLog((open) => {
    const log = open();
    log.commit((append) => {
      append(invoked('first'));
      for (let i = 0; i < 4_500; i++) append({ type: 'turn/start', turn: 1 });
      append(invoked('last'));
    });
    return [...createInvokedSkills(open())()];
  });
  expect(names).toEqual(['first', 'last']);
});
