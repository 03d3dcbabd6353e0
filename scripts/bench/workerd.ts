/** Runs a worker on workerd itself, with a configuration of our own: nothing stands between the client and it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { nowMs } from './clock.ts';

export interface WorkerSpec {
  name: string;
  /** The path of its one module. */
  module: string;
  compatibilityDate: string;
  /** Classes of its Durable Objects, by binding. */
  objects: Record<string, string>;
  /** Texts by binding. */
  vars: Record<string, string>;
  /** Values by key, in each of these KV bindings. */
  kv?: { bindings: string[]; module: string; entries: Record<string, Uint8Array> };
}

export interface RunningWorker {
  /** The same over restarts. */
  url: string;
  /** Of the inspector, where one was asked for. */
  inspector: string | null;
  /** Of the process that runs now. */
  pid: () => number;
  stop: () => Promise<void>;
  /** Ends it at once, in the middle of whatever it does. Resolves when the process is gone. */
  kill: () => Promise<void>;
  /** Starts it again on its disk and its port. The moment (`nowMs()`) at which it listened. */
  restart: () => Promise<number>;
}

const DRAIN_MS = 1_000;
const CONFIG = 'config.capnp';
const ANY_PORT = 0;

/** The runtime that wrangler brings, so that there is one of it. */
function findWorkerd(): string {
  const fromWrangler = createRequire(createRequire(import.meta.url).resolve('wrangler/package.json'));
  return z.object({ default: z.string() }).parse(fromWrangler('workerd')).default;
}

const controlEvent = z.looseObject({ event: z.string(), port: z.number().optional() });

/** Starts it with its state in `folder`. The inspector, where wanted, is for profiles; it makes the worker slower. */
export async function startWorker(
  spec: WorkerSpec,
  folder: string,
  inspect: boolean,
): Promise<RunningWorker> {
  const state = join(folder, 'state');
  await mkdir(state, { recursive: true });
  // An absolute path of an `embed` is looked up among the runtime's own files, so modules lie beside the configuration.
  await copyFile(spec.module, join(folder, 'main.js'));
  if (spec.kv) await copyFile(spec.kv.module, join(folder, 'kv.js'));
  const start = async (port: number): Promise<Life> => {
    await writeFile(join(folder, CONFIG), toConfig(spec, state, port));
    return beginLife(folder, inspect);
  };
  let life = await start(ANY_PORT);
  const { port, inspector } = life;
  const kill = async (): Promise<void> => {
    life.child.kill('SIGKILL');
    await life.ended;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    inspector,
    pid: () => life.child.pid ?? 0,
    kill,
    async restart() {
      life = await start(port);
      return life.listenedAt;
    },
    async stop() {
      life.child.kill('SIGTERM');
      // It waits for the requests in it; what is in it now is of no interest any more.
      const timer = setTimeout(() => life.child.kill('SIGKILL'), DRAIN_MS);
      await life.ended;
      clearTimeout(timer);
    },
  };
}

/** One process of the runtime. */
interface Life {
  child: ChildProcess;
  port: number;
  inspector: string | null;
  listenedAt: number;
  ended: Promise<void>;
}

/** Resolves when it listens. Its standard error is shown where BENCH_VERBOSE is set. */
async function beginLife(folder: string, inspect: boolean): Promise<Life> {
  const args = ['serve', join(folder, CONFIG), '--control-fd=3'];
  if (inspect) args.push('--inspector-addr=127.0.0.1:0');
  const child = spawn(findWorkerd(), args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', process.env['BENCH_VERBOSE'] ? 'inherit' : 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ports = await new Promise<Record<string, number>>((resolve, reject) => {
    const found: Record<string, number> = {};
    child.stdio[3]?.on('data', (data: unknown) => {
      for (const line of String(data).trim().split('\n')) {
        const { event, port } = controlEvent.parse(JSON.parse(line));
        if (port !== undefined) found[event] = port;
      }
      if (found['listen'] !== undefined && (!inspect || found['listen-inspector'] !== undefined))
        resolve(found);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`workerd ended with ${code}`)));
  });
  return {
    child,
    port: ports['listen'] ?? ANY_PORT,
    inspector: inspect ? `http://127.0.0.1:${ports['listen-inspector']}` : null,
    listenedAt: nowMs(),
    ended,
  };
}

function toConfig(spec: WorkerSpec, state: string, port: number): string {
  const bindings = [
    ...Object.entries(spec.objects).map(
      ([binding, className]) => `(name = ${quote(binding)}, durableObjectNamespace = ${quote(className)})`,
    ),
    ...Object.entries(spec.vars).map(([name, text]) => `(name = ${quote(name)}, text = ${quote(text)})`),
    ...(spec.kv?.bindings ?? []).map((binding) => `(name = ${quote(binding)}, kvNamespace = "kv")`),
  ];
  const classes = Object.values(spec.objects).map(
    (className) => `(className = ${quote(className)}, uniqueKey = ${quote(className)}, enableSql = true)`,
  );
  const date = quote(spec.compatibilityDate);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "main.js", esModule = embed "main.js")],
      compatibilityDate = ${date},
      bindings = [${bindings.join(',\n        ')}],
      durableObjectNamespaces = [${classes.join(', ')}],
      durableObjectStorage = (localDisk = "state"),
    )),
    ${spec.kv ? toKvService(spec.kv, date) : ''}
    (name = "state", disk = (path = ${quote(state)}, writable = true)),
    (name = "internet", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
}

function toKvService(kv: NonNullable<WorkerSpec['kv']>, date: string): string {
  const entries = Object.fromEntries(
    Object.entries(kv.entries).map(([key, bytes]) => [key, Buffer.from(bytes).toString('base64')]),
  );
  return `(name = "kv", worker = (
      modules = [(name = "kv.js", esModule = embed "kv.js")],
      compatibilityDate = ${date},
      bindings = [(name = "ENTRIES", text = ${quote(JSON.stringify(entries))})],
    )),`;
}

/** A Cap'n Proto string literal: JSON's escapes are among its own, but for those of non-ASCII characters. */
function quote(text: string): string {
  return JSON.stringify(text);
}
