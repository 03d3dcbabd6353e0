/**
 * Where models come from. A definition is data of the deployment; it reads its keys and addresses from the worker's
 * bindings when a route first needs it, and an error names the missing binding, never a value. The adapters are
 * imported on use, so that a worker starts without evaluating those that it does not need.
 */
import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { z } from 'zod';
import { modelNotConfigured, unknownModel } from '../errors.ts';
import type { ModelResolver, ProviderTraits, ResolvedModel } from './types.ts';

/** The worker's bindings: keys, addresses, the AI binding. */
export type ModelEnv = Record<string, unknown>;

interface ProviderInstance extends ProviderTraits {
  /** Throws `unknownModel` where the provider knows its models and this is none. */
  model: (id: string) => LanguageModelV4 | Promise<LanguageModelV4>;
  accepts: (mediaType: string, id: string) => boolean;
  /** Credentials that must not be shown. */
  secrets?: readonly string[];
}

export interface ProviderDefinition {
  /** What stands before the slash of a route. */
  name: string;
  /** Throws `modelNotConfigured`, naming the variable that is missing. */
  create: (env: ModelEnv) => ProviderInstance;
}

/** Media types that a provider's models take (`image/*` is a whole family), or a function where models differ. */
export type AcceptedMedia = readonly string[] | ((mediaType: string, model: string) => boolean);

/** Where a provider is, and with what key. */
interface ProviderAddress {
  /** Used where `baseUrlVar` is not set. */
  baseUrl?: string;
  /** The variable whose value replaces `baseUrl`. */
  baseUrlVar?: string;
  /** The variable that holds the API key; absent for a provider that needs none. */
  key?: string;
  /** A transport of one's own: a gateway, a recorder; the platform's where absent. */
  fetch?: typeof globalThis.fetch;
}

export interface AnthropicOptions extends ProviderAddress {
  name?: string;
  media?: AcceptedMedia;
}

export interface OpenAiCompatibleOptions extends ProviderAddress {
  name: string;
  media?: AcceptedMedia;
  /** OpenAI's reasoning models refuse the older `max_tokens`. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens';
}

const loadAnthropic = keepModule(() => import('@ai-sdk/anthropic'));
const loadOpenAiCompatible = keepModule(() => import('@ai-sdk/openai-compatible'));
const loadWorkersAi = keepModule(() => import('workers-ai-provider'));
const loadOffline = keepModule(() => import('./offline.ts'));

/**
 * A module that is loaded when a session first needs it, then kept. The module is every session's; the promise of one that
 * is being loaded belongs to the session that asked, and is nobody's when that is killed.
 */
function keepModule<T>(load: () => Promise<T>): () => Promise<T> {
  let kept: { module: T } | null = null;
  return async () => {
    kept ??= { module: await load() };
    return kept.module;
  };
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
const IMAGES_AND_PDF = [...IMAGES, 'application/pdf'] as const;

export function anthropic(options: AnthropicOptions = {}): ProviderDefinition {
  const { name = 'anthropic', key = 'ANTHROPIC_API_KEY', baseUrl = 'https://api.anthropic.com/v1' } = options;
  return {
    name,
    create(env) {
      const address = readAddress(name, { ...options, key, baseUrl }, env);
      const load = loadOnce(async () => {
        const { createAnthropic } = await loadAnthropic();
        return createAnthropic({
          baseURL: address.baseUrl,
          apiKey: address.key ?? '',
          ...(options.fetch ? { fetch: options.fetch } : {}),
        });
      });
      return {
        metaKey: 'anthropic',
        // A breakpoint that never moves: one on the newest message would change the messages before it.
        systemOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
        toolResultMedia: true,
        secrets: address.secrets,
        accepts: toAccepts(options.media ?? IMAGES_AND_PDF),
        model: async (id) => (await load())(id),
      };
    },
  };
}

export function openaiCompatible(options: OpenAiCompatibleOptions): ProviderDefinition {
  const { name } = options;
  return {
    name,
    create(env) {
      const address = readAddress(name, options, env);
      const load = loadOnce(async () => {
        const { createOpenAICompatible } = await loadOpenAiCompatible();
        return createOpenAICompatible({
          name,
          baseURL: address.baseUrl,
          ...(address.key === undefined ? {} : { apiKey: address.key }),
          includeUsage: true,
          ...(options.fetch ? { fetch: options.fetch } : {}),
          convertUsage: convertOpenAiUsage,
          ...(options.maxTokensField === 'max_completion_tokens'
            ? { transformRequestBody: renameMaxTokens }
            : {}),
        });
      });
      return {
        metaKey: name,
        secrets: address.secrets,
        accepts: toAccepts(options.media ?? []),
        model: async (id) => (await load()).chatModel(id),
      };
    },
  };
}

export function workersAi(
  options: { name?: string; binding?: string; media?: AcceptedMedia } = {},
): ProviderDefinition {
  const { name = 'workers-ai', binding = 'AI', media = [] } = options;
  return {
    name,
    create(env) {
      const ai = env[binding];
      if (!isAiBinding(ai)) throw toNotConfigured(name, binding);
      const load = loadOnce(async () => {
        const { createWorkersAI } = await loadWorkersAi();
        return createWorkersAI({ binding: ai });
      });
      return {
        metaKey: name,
        accepts: toAccepts(media),
        model: async (id) => (await load()).chat(id),
      };
    },
  };
}

/** `offline/demo` and `offline/instant`: see `offline.ts`. */
export function offline(): ProviderDefinition {
  return {
    name: 'offline',
    create: () => ({
      metaKey: 'offline',
      marksSource: true,
      accepts: toAccepts(['image/*', 'application/pdf']),
      async model(id) {
        const { createOfflineModel, OFFLINE_MODELS } = await loadOffline();
        const pause = OFFLINE_MODELS[id];
        if (pause === undefined) throw toUnknownModel('offline', id, Object.keys(OFFLINE_MODELS));
        return createOfflineModel(id, pause);
      },
    }),
  };
}

/** Providers by name, each with its usual address and variables. */
export const STANDARD_PROVIDERS: readonly ProviderDefinition[] = [
  anthropic({ baseUrlVar: 'ANTHROPIC_BASE_URL' }),
  openaiCompatible({
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    baseUrlVar: 'OPENAI_BASE_URL',
    key: 'OPENAI_API_KEY',
    media: IMAGES_AND_PDF,
    maxTokensField: 'max_completion_tokens',
  }),
  openaiCompatible({
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    baseUrlVar: 'DEEPSEEK_BASE_URL',
    key: 'DEEPSEEK_API_KEY',
  }),
  openaiCompatible({
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    baseUrlVar: 'OPENROUTER_BASE_URL',
    key: 'OPENROUTER_API_KEY',
    media: IMAGES_AND_PDF,
  }),
  openaiCompatible({ name: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1', baseUrlVar: 'OLLAMA_BASE_URL' }),
  workersAi(),
  offline(),
];

/** Providers are created, and models resolved, once a resolver; a failure is tried again the next time. */
export function createModelResolver(
  definitions: readonly ProviderDefinition[],
  env: ModelEnv,
): ModelResolver {
  const byName = new Map(definitions.map((definition) => [definition.name, definition]));
  const instances = new Map<string, ProviderInstance>();
  const resolved = new Map<string, ResolvedModel>();

  async function resolve(provider: string, model: string, route: string): Promise<ResolvedModel> {
    const definition = byName.get(provider);
    if (definition === undefined || model === '') throw toUnknownModel(provider, model, [...byName.keys()]);
    const instance = instances.get(provider) ?? definition.create(env);
    instances.set(provider, instance);
    const { model: load, accepts, secrets = [], ...traits } = instance;
    const entry: ResolvedModel = {
      provider,
      model,
      adapter: await load(model),
      traits,
      accepts: (mediaType) => accepts(mediaType, model),
      redact: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text),
    };
    resolved.set(route, entry);
    return entry;
  }

  return (provider, model) => {
    const route = `${provider}/${model}`;
    return resolved.get(route) ?? resolve(provider, model, route);
  };
}

function readAddress(
  provider: string,
  options: ProviderAddress,
  env: ModelEnv,
): { baseUrl: string; key: string | undefined; secrets: string[] } {
  const baseUrl = readText(env, options.baseUrlVar) ?? options.baseUrl;
  if (baseUrl === undefined) throw toNotConfigured(provider, options.baseUrlVar ?? 'baseUrl');
  const key = readText(env, options.key);
  if (options.key !== undefined && key === undefined) throw toNotConfigured(provider, options.key);
  return { baseUrl, key, secrets: key === undefined ? [] : [key] };
}

function readText(env: ModelEnv, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : env[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function toNotConfigured(provider: string, variable: string) {
  return modelNotConfigured(`The provider ${JSON.stringify(provider)} needs ${variable}, which is not set.`, {
    provider,
    variable,
  });
}

function toUnknownModel(provider: string, model: string, known: string[]) {
  return unknownModel(`There is no model ${JSON.stringify(`${provider}/${model}`)}.`, {
    provider,
    model,
    known,
  });
}

function isAiBinding(value: unknown): value is Ai {
  return typeof value === 'object' && value !== null && 'run' in value && typeof value.run === 'function';
}

function toAccepts(media: AcceptedMedia): (mediaType: string, model: string) => boolean {
  if (typeof media === 'function') return media;
  return (mediaType) => media.includes(mediaType) || media.includes(`${mediaType.split('/', 1)[0]}/*`);
}

/** One load for all that ask; one that failed is forgotten. */
function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

function renameMaxTokens({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens };
}

const openAiUsage = z.object({
  prompt_tokens: z.number().catch(0),
  completion_tokens: z.number().catch(0),
  total_tokens: z.number().optional().catch(undefined),
  prompt_tokens_details: z
    .object({ cached_tokens: z.number().catch(0) })
    .optional()
    .catch(undefined),
  completion_tokens_details: z
    .object({ reasoning_tokens: z.number().catch(0) })
    .optional()
    .catch(undefined),
});

/**
 * OpenAI counts reasoning among the completion tokens; xAI beside them, which shows in the total. Ours are totals.
 */
function convertOpenAiUsage(raw: unknown): LanguageModelV4Usage {
  const usage = openAiUsage.safeParse(raw);
  if (!usage.success) return NOTHING_TOLD;
  const { prompt_tokens: input, completion_tokens, total_tokens } = usage.data;
  const cached = usage.data.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage.data.completion_tokens_details?.reasoning_tokens ?? 0;
  const beside = reasoning > 0 && total_tokens === input + completion_tokens + reasoning;
  const output = beside ? completion_tokens + reasoning : completion_tokens;
  return {
    inputTokens: {
      total: input,
      noCache: Math.max(0, input - cached),
      cacheRead: cached,
      cacheWrite: undefined,
    },
    outputTokens: { total: output, text: Math.max(0, output - reasoning), reasoning },
  };
}

const NOTHING_TOLD: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
