/** Everything that runs during the benchmark: the model server, Perch, and the reference beside it. */
import { join } from 'node:path';
import { unstable_readConfig } from 'wrangler';
import { z } from 'zod';
import { POINTER_KEY } from '../../durable/skills/index.ts';
import { bundleSkills } from '../skills/bundle.ts';
import { bundleWorker } from './bundle.ts';
import { type ModelProcess, startModelServer } from './model-process.ts';
import { createPerchClient, keyEntry, type PerchClient } from './perch-client.ts';
import { createReferenceClient, type ReferenceClient } from './reference-client.ts';
import { withTemporaryFolder } from './temporary-folder.ts';
import { type RunningWorker, startWorker, type WorkerSpec } from './workerd.ts';

export interface Stand {
  model: ModelProcess;
  perch: PerchClient;
  reference: ReferenceClient;
  perchWorker: RunningWorker;
}

const SKILLS = 'skills';
const SECRET = 'the benchmark has no secrets, but names need one';

/** Runs `use` over a stand of its own, and leaves nothing behind. */
export function withStand<T>(options: { inspect: boolean }, use: (stand: Stand) => Promise<T>): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const stops: (() => void | Promise<void>)[] = [];
    try {
      return await use(await startStand(folder, options, (stop) => stops.push(stop)));
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  });
}

async function startStand(
  folder: string,
  options: { inspect: boolean },
  onStop: (stop: () => void | Promise<void>) => void,
): Promise<Stand> {
  const compatibilityDate = readCompatibilityDate();
  const bundle = (name: string): Promise<string> => bundleWorker(name, { into: folder, compatibilityDate });
  const [perchModule, referenceModule, kvModule] = await Promise.all([
    bundle('perch'),
    bundle('reference'),
    bundle('kv'),
  ]);
  const start = async (spec: Omit<WorkerSpec, 'compatibilityDate'>, inspect: boolean) => {
    const worker = await startWorker(
      { ...spec, compatibilityDate },
      join(folder, `${spec.name}-run`),
      inspect,
    );
    onStop(worker.stop);
    return worker;
  };
  const model = await startModelServer();
  onStop(model.stop);
  const perchWorker = await start(
    {
      name: 'perch',
      module: perchModule,
      objects: { SESSIONS: 'Session', DIRECTORIES: 'Directory', LOOPS: 'LoopObject' },
      vars: { MODEL_SERVER: model.baseUrl, OBJECT_NAME_SECRET: SECRET },
      kv: { bindings: ['KEYS', 'SKILLS'], module: kvModule, entries: await kvEntries() },
    },
    options.inspect,
  );
  const perch = createPerchClient(perchWorker.url);
  const referenceWorker = await start(
    {
      name: 'reference',
      module: referenceModule,
      objects: { REFERENCES: 'Reference' },
      vars: { MODEL_SERVER: model.baseUrl, SETUP: JSON.stringify(await readSetup(perch, model)) },
    },
    false,
  );
  return { model, perch, perchWorker, reference: createReferenceClient(referenceWorker.url) };
}

function readCompatibilityDate(): string {
  const { compatibility_date } = unstable_readConfig({ config: 'wrangler.toml' });
  if (!compatibility_date) throw new Error('wrangler.toml has no compatibility_date');
  return compatibility_date;
}

/** The caller's key, and the bundled skills as a release of them. */
async function kvEntries(): Promise<Record<string, Uint8Array>> {
  const encoder = new TextEncoder();
  const { key, value } = keyEntry();
  const { entries, pointer } = await bundleSkills(SKILLS);
  return {
    [key]: encoder.encode(JSON.stringify(value)),
    ...Object.fromEntries(entries.map((entry) => [entry.key, entry.bytes])),
    [POINTER_KEY]: encoder.encode(JSON.stringify(pointer)),
  };
}

const firstRequest = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  tools: z.array(
    z.object({
      function: z.looseObject({ name: z.string(), description: z.string(), parameters: z.looseObject({}) }),
    }),
  ),
});

/** What the reference is to send besides the conversation: read off a request of Perch's, so that both weigh the same. */
async function readSetup(perch: PerchClient, model: ModelProcess): Promise<object> {
  const name = 'calls-0-setup';
  await perch.prompt(await perch.open(`stand-in/${name}`), 'Hello.');
  const { messages, tools } = firstRequest.parse(await model.body(name));
  const [system, , ...opening] = messages;
  return {
    system: system?.content ?? '',
    opening: opening.map(({ content }) => content),
    tools: tools.map(({ function: { name: tool, description, parameters } }) => ({
      type: 'function',
      name: tool,
      description,
      inputSchema: parameters,
    })),
  };
}
