/** A CPU profile of a running worker, over the runtime's inspector, in the format that DevTools and editors open. */
import { writeFile } from 'node:fs/promises';
import { z } from 'zod';

/** Dense enough for work of a tenth of a millisecond. */
const INTERVAL_US = 100;

const targets = z.array(z.looseObject({ id: z.string(), webSocketDebuggerUrl: z.string() }));
const reply = z.looseObject({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** Profiles the isolate of the service `main` while `work` runs. */
export async function profileWorker(
  inspector: string,
  file: string,
  work: () => Promise<void>,
): Promise<void> {
  const list = targets.parse(await (await fetch(`${inspector}/json`)).json());
  const target = list.find(({ id }) => id.includes('main')) ?? list[0];
  if (!target) throw new Error('the inspector has no target');
  const session = await connect(target.webSocketDebuggerUrl);
  await session.call('Profiler.enable');
  await session.call('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.call('Profiler.start');
  await work();
  const { profile } = z.looseObject({ profile: z.unknown() }).parse(await session.call('Profiler.stop'));
  session.close();
  await writeFile(file, JSON.stringify(profile));
}

async function connect(url: string) {
  const socket = new WebSocket(url);
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = reply.parse(JSON.parse(String(data)));
    if (id === undefined) return;
    if (error !== undefined) throw new Error(`the inspector: ${JSON.stringify(error)}`);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  const opened = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => opened.reject(new Error('the inspector cannot be reached')));
  await opened.promise;
  let next = 0;
  return {
    call(method: string, params: object = {}): Promise<unknown> {
      const id = ++next;
      const result = new Promise<unknown>((resolve) => waiting.set(id, resolve));
      socket.send(JSON.stringify({ id, method, params }));
      return result;
    },
    close: () => socket.close(),
  };
}
