/**
 * The worker as it is, over the benchmark's deployment. Beside it, under /bench/, what the benchmark needs to set a
 * session up and to look into it; none of that is on the measured way.
 */
import { resolveDeployment } from '../../../durable/composition.ts';
import { defineSession } from '../../../durable/session.ts';
import { createApp } from '../../../worker/app.ts';
import { objectName } from '../../../worker/auth/names.ts';
import { benchDeployment } from './deployment.ts';
import { takeMarks } from './instant-provider.ts';
import { READS_KEY } from './kv-reads.ts';
import { defineLoopObject } from './loop-object.ts';
import { countRows, type RowCounts } from './row-counter.ts';
import { seedLog } from './seed.ts';

export { Directory } from '../../../durable/directory.ts';

const deployment = resolveDeployment(benchDeployment);
const app = createApp(deployment);

/** How often an object was built: proves that an abort really evicted one. */
let built = 0;

export class Session extends defineSession(deployment) {
  #rows: (() => RowCounts) | null = null;

  constructor(...args: ConstructorParameters<ReturnType<typeof defineSession>>) {
    super(...args);
    built++;
  }

  benchSeed(events: number): number {
    return seedLog(this.ctx.storage, events);
  }

  benchCountRows(): RowCounts {
    this.#rows ??= countRows(this.ctx.storage);
    return this.#rows();
  }

  benchAbort(): void {
    this.ctx.abort('evicted by the benchmark');
  }
}

export class LoopObject extends defineLoopObject(deployment) {}

interface BenchEnv {
  SESSIONS: DurableObjectNamespace<Session>;
  LOOPS: DurableObjectNamespace<LoopObject>;
  SKILLS: KVNamespace;
  OBJECT_NAME_SECRET: string;
}

async function answerBench(url: URL, env: BenchEnv): Promise<Response> {
  const { searchParams: query } = url;
  const name = objectName(env.OBJECT_NAME_SECRET, query.get('tenant') ?? '', query.get('session') ?? '');
  const session = env.SESSIONS.get(env.SESSIONS.idFromName(name));
  switch (url.pathname) {
    case '/bench/marks':
      return Response.json(takeMarks(query.get('model') ?? ''));
    case '/bench/kv-reads':
      return Response.json(Number(await env.SKILLS.get(READS_KEY)));
    case '/bench/built':
      return Response.json(built);
    case '/bench/seed':
      return Response.json(await session.benchSeed(Number(query.get('events'))));
    case '/bench/rows':
      return Response.json(await session.benchCountRows());
    case '/bench/loop': {
      const model = query.get('model') ?? '';
      const rooms = query.get('rooms') === 'memory' ? 'memory' : 'disk';
      const loop = env.LOOPS.get(env.LOOPS.idFromName(`${rooms} ${model}`));
      await loop.benchLoop(rooms, model, Number(query.get('turns')));
      return Response.json(null);
    }
    case '/bench/evict':
      // The abort is what fails the call.
      await session.benchAbort().catch(() => undefined);
      return Response.json(null);
    default:
      return new Response(null, { status: 404 });
  }
}

export default {
  fetch(request: Request, env: BenchEnv, context: ExecutionContext): Response | Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith('/bench/')) return answerBench(url, env);
    return app.fetch(request, env, context);
  },
};
