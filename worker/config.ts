/** What the worker is given: bindings and vars, checked once for each `env` object. */
import { z } from 'zod';
import { misconfigured } from '../durable/errors.ts';
import type { DirectoryRpc, SessionRpc } from '../durable/rpc.ts';
import { skillSourceFor } from '../durable/skills/index.ts';
import type { SkillSource } from '../durable/skills/types.ts';
import { createKeyCache, type KeyCache } from './auth/index.ts';

/** A namespace of objects with this surface; the platform's own type asks for a class. */
interface ObjectNamespace<Surface> {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): Surface;
}

/** Shorter ones can be guessed, and with it the name of any tenant's object. */
const SECRET_MIN_CHARACTERS = 32;

function binding<T>(kind: string) {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
  return z.custom<T>(isObject, `a ${kind} binding is needed: see wrangler.toml`);
}

const origins = z
  .string()
  .default('')
  .transform((list) =>
    list
      .split(',')
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ''),
  );

const environment = z.object({
  SESSIONS: binding<ObjectNamespace<SessionRpc>>('Durable Object'),
  DIRECTORIES: binding<ObjectNamespace<DirectoryRpc>>('Durable Object'),
  KEYS: binding<KVNamespace>('KV'),
  SKILLS: binding<KVNamespace>('KV'),
  OBJECT_NAME_SECRET: z
    .string(`is needed: set it with \`wrangler secret put OBJECT_NAME_SECRET\` (locally in .dev.vars)`)
    .min(SECRET_MIN_CHARACTERS, `needs at least ${SECRET_MIN_CHARACTERS} characters`),
  KEY_CACHE_SECONDS: z.coerce.number().int().min(0).max(3_600).default(30),
  SKILLS_FRESH_MS: z.coerce.number().int().min(0).default(30_000),
  CORS_ORIGINS: origins,
});

export interface Config {
  sessions: ObjectNamespace<SessionRpc>;
  directories: ObjectNamespace<DirectoryRpc>;
  keys: KVNamespace;
  keyCache: KeyCache;
  skills: SkillSource;
  objectNameSecret: string;
  corsOrigins: readonly string[];
}

const configs = new WeakMap<object, Config>();

/**
 * The worker's configuration. Throws `misconfigured`: its detail is for the caller and names no value, its facts
 * name the variables; the log line says what is wrong with each.
 */
export function readConfig(env: object): Config {
  const known = configs.get(env);
  if (known !== undefined) return known;
  const config = buildConfig(env);
  configs.set(env, config);
  return config;
}

function buildConfig(env: object): Config {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    console.error(JSON.stringify({ level: 'error', msg: 'misconfigured', faults }));
    const names = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
    throw misconfigured(`This deployment is not configured: ${names.join(', ')}.`, { variables: names });
  }
  const vars = parsed.data;
  const now = (): number => Date.now();
  return {
    sessions: vars.SESSIONS,
    directories: vars.DIRECTORIES,
    keys: vars.KEYS,
    keyCache: createKeyCache(vars.KEY_CACHE_SECONDS * 1_000, now),
    skills: skillSourceFor({ kv: vars.SKILLS, freshMs: vars.SKILLS_FRESH_MS, now }),
    objectNameSecret: vars.OBJECT_NAME_SECRET,
    corsOrigins: vars.CORS_ORIGINS,
  };
}
