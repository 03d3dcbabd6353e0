/** Folds the parts of a stream into the blocks of an assistant message. Pure. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { type AssistantBlock, NO_USAGE, type ToolCallBlock, type Usage } from '../transcript/events.ts';
import type { Delta, ModelAnswer } from './types.ts';

export interface Collector {
  /** The last reason that the stream gave; null while it gave none. */
  readonly finish: LanguageModelV4FinishReason | null;
  /** Something of the provider's protocol arrived. */
  readonly began: boolean;
  add: (part: LanguageModelV4StreamPart) => void;
  /** The blocks so far; empty ones are left out. */
  toAnswer: (finish: string) => ModelAnswer;
  /** What the provider or the model said where it declined; empty where neither said anything. */
  refusal: () => string;
}

type SpokenPart = Extract<
  LanguageModelV4StreamPart,
  { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }
>;
type CallPart = Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>;

/** A block while it is written. */
type Draft =
  | { kind: 'text' | 'reasoning'; text: string; meta: SharedV4ProviderMetadata | undefined }
  | ToolCallBlock;

const jsonObject = z.record(z.string(), z.json());
const anthropicRefusal = z.object({
  anthropic: z.object({ stopDetails: z.object({ explanation: z.string() }) }),
});

/** `asked` is the model's id where the provider does not say which one answered. */
export function createCollector(asked: string, onDelta: (delta: Delta) => void): Collector {
  const drafts: Draft[] = [];
  const open = new Map<string, Exclude<Draft, ToolCallBlock>>();
  const ids = new Set<string>();
  let finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | null = null;
  let model = asked;
  let began = false;

  /** A block starts with its start, or with its first delta where the stream forgot the start. */
  function openDraft(kind: 'text' | 'reasoning', id: string, renew: boolean): Exclude<Draft, ToolCallBlock> {
    const key = `${kind}:${id}`;
    const known = renew ? undefined : open.get(key);
    if (known !== undefined) return known;
    const draft = { kind, text: '', meta: undefined };
    drafts.push(draft);
    open.set(key, draft);
    return draft;
  }

  function addSpoken(kind: 'text' | 'reasoning', part: SpokenPart): void {
    const draft = openDraft(kind, part.id, part.type === `${kind}-start`);
    if (part.providerMetadata !== undefined) draft.meta = mergeMeta(draft.meta, part.providerMetadata);
    if (part.type === `${kind}-end`) open.delete(`${kind}:${part.id}`);
    if (!('delta' in part) || part.delta === '') return;
    draft.text += part.delta;
    onDelta({ kind, text: part.delta });
  }

  function addPart(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        addSpoken('text', part);
        return;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        addSpoken('reasoning', part);
        return;
      case 'tool-call':
        // A call that the provider ran itself is none of ours.
        if (part.providerExecuted !== true) drafts.push(toCallBlock(part, takeId(ids, part.toolCallId)));
        return;
      case 'response-metadata':
        model = part.modelId ?? model;
        return;
      case 'finish':
        finish = part;
        return;
      default:
    }
  }

  return {
    get finish() {
      return finish?.finishReason ?? null;
    },
    get began() {
      return began;
    },
    add(part) {
      began ||= part.type !== 'stream-start' && part.type !== 'finish';
      addPart(part);
    },
    toAnswer: (reason) => ({
      content: drafts.flatMap(toBlocks),
      finish: reason,
      usage: finish === null ? { ...NO_USAGE } : toUsage(finish.usage),
      model,
    }),
    refusal() {
      const details = anthropicRefusal.safeParse(finish?.providerMetadata);
      if (details.success) return details.data.anthropic.stopDetails.explanation;
      return drafts
        .map((draft) => ('kind' in draft && draft.kind === 'text' ? draft.text : ''))
        .join('')
        .trim();
    },
  };
}

/** `input` and `output` are totals: cached and reasoning tokens are among them. What is not told is 0. */
function toUsage(usage: LanguageModelV4Usage): Usage {
  return {
    input: toCount(usage.inputTokens.total),
    input_cached: toCount(usage.inputTokens.cacheRead),
    input_cache_write: toCount(usage.inputTokens.cacheWrite),
    output: toCount(usage.outputTokens.total),
    reasoning: toCount(usage.outputTokens.reasoning),
  };
}

function toCount(tokens: number | undefined): number {
  return tokens === undefined || !Number.isFinite(tokens) || tokens < 0 ? 0 : tokens;
}

function toBlocks(draft: Draft): AssistantBlock[] {
  if (!('kind' in draft)) return [draft];
  const { kind, text, meta } = draft;
  // Reasoning without text may still carry what the provider wants back (Anthropic's redacted thinking).
  if (text === '' && (kind === 'text' || meta === undefined)) return [];
  return [meta === undefined ? { type: kind, text } : { type: kind, text, meta: toJson(meta) }];
}

/** The input as an object; text that is none is kept beside it. No text at all is a call without arguments. */
function toCallBlock(part: CallPart, id: string): ToolCallBlock {
  const block: ToolCallBlock = { type: 'tool-call', id, name: part.toolName, input: {} };
  if (part.providerMetadata !== undefined) block.meta = toJson(part.providerMetadata);
  if (part.input.trim() === '') return block;
  const parsed = jsonObject.safeParse(parseJson(part.input));
  return parsed.success ? { ...block, input: parsed.data } : { ...block, malformed: part.input };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no JSON: the caller keeps the text
  }
}

/** Results are matched by id, so within an answer each call has its own: `x`, `x_2`, …; `call_1`, … where none came. */
function takeId(taken: Set<string>, given: string): string {
  const wanted = given.trim() === '' ? `call_${taken.size + 1}` : given;
  let id = wanted;
  for (let n = 2; taken.has(id); n++) id = `${wanted}_${n}`;
  taken.add(id);
  return id;
}

function mergeMeta(
  old: SharedV4ProviderMetadata | undefined,
  added: SharedV4ProviderMetadata,
): SharedV4ProviderMetadata {
  const merged = { ...old };
  for (const [provider, value] of Object.entries(added)) merged[provider] = { ...merged[provider], ...value };
  return merged;
}

/** Through JSON, because members without a value have no place in the log. */
function toJson(meta: SharedV4ProviderMetadata): z.infer<typeof jsonObject> {
  return jsonObject.parse(JSON.parse(JSON.stringify(meta)));
}
