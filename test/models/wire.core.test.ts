/** Recorded streams of real providers, through the real adapters over HTTP. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AssistantBlock, Usage } from '../../durable/transcript/events.ts';
import { answerOf, ask, type ProtocolName, useStandIn } from './stand-in.ts';

const FOLDER = new URL('../../../shared/wire/', import.meta.url);
const recordings = existsSync(FOLDER)
  ? readdirSync(FOLDER).filter((name) => name.endsWith('.chunks.txt'))
  : [];

/** Read off the recordings by hand: `[input, cached, output, reasoning]` and the interface's word for the end. */
const FACTS: Record<string, { usage: [number, number, number, number]; finish: string; model: string }> = {
  'alibaba-tool-call': { usage: [295, 0, 22, 0], finish: 'tool-calls', model: 'qwen3-max' },
  'anthropic-json-other-tool.1': {
    usage: [843, 0, 28, 0],
    finish: 'tool-calls',
    model: 'claude-haiku-4-5-20251001',
  },
  'anthropic-message-delta-input-tokens': {
    usage: [61, 0, 2, 0],
    finish: 'stop',
    model: 'claude-opus-4-5-20251101',
  },
  'anthropic-text': { usage: [12, 0, 30, 0], finish: 'stop', model: 'claude-sonnet-4-5-20250929' },
  'anthropic-tool-no-args': {
    usage: [565, 0, 48, 0],
    finish: 'tool-calls',
    model: 'claude-sonnet-4-5-20250929',
  },
  'deepseek-reasoning': { usage: [18, 0, 219, 205], finish: 'stop', model: 'deepseek-reasoner' },
  'deepseek-text': { usage: [13, 0, 400, 0], finish: 'length', model: 'deepseek-chat' },
  'deepseek-tool-call': { usage: [339, 320, 83, 39], finish: 'tool-calls', model: 'deepseek-reasoner' },
  'groq-tool-call': { usage: [210, 0, 15, 0], finish: 'tool-calls', model: 'llama-3.3-70b-versatile' },
  'openai-text': { usage: [16, 0, 300, 0], finish: 'stop', model: 'gpt-4.1-nano-2025-04-14' },
  // xAI counts reasoning beside the completion: 12 + 2 + 340 = 354, and 307 + 26 + 227 = 560.
  'xai-text': { usage: [12, 11, 342, 340], finish: 'stop', model: 'grok-3-mini' },
  'xai-tool-call': { usage: [307, 306, 253, 227], finish: 'tool-calls', model: 'grok-3-mini' },
};

interface Heard {
  text: string;
  reasoning: string;
  calls: { name: string; input: unknown }[];
}

const openAiLine = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.looseObject({
        content: z.string().nullish(),
        reasoning_content: z.string().nullish(),
        tool_calls: z
          .array(
            z.looseObject({
              index: z.number(),
              function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }),
            }),
          )
          .optional(),
      }),
    }),
  ),
});

const anthropicLine = z.looseObject({
  type: z.string(),
  content_block: z.looseObject({ type: z.string(), name: z.string().optional() }).optional(),
  delta: z
    .looseObject({
      text: z.string().optional(),
      thinking: z.string().optional(),
      partial_json: z.string().optional(),
    })
    .optional(),
});

/** The recording read without any adapter: the fields of each line, put together. */
function hear(protocol: ProtocolName, lines: string[]): Heard {
  const heard = { text: '', reasoning: '', calls: new Map<number, { name: string; input: string }>() };
  const openCall = (at: number) => {
    const call = heard.calls.get(at) ?? { name: '', input: '' };
    heard.calls.set(at, call);
    return call;
  };
  for (const line of lines) {
    if (protocol === 'anthropic') {
      const { content_block: block, delta } = anthropicLine.parse(JSON.parse(line));
      if (block?.type === 'tool_use') openCall(heard.calls.size).name = block.name ?? '';
      heard.text += delta?.text ?? '';
      heard.reasoning += delta?.thinking ?? '';
      if (delta?.partial_json !== undefined) openCall(heard.calls.size - 1).input += delta.partial_json;
      continue;
    }
    for (const { delta } of openAiLine.parse(JSON.parse(line)).choices) {
      heard.text += delta.content ?? '';
      heard.reasoning += delta.reasoning_content ?? '';
      for (const piece of delta.tool_calls ?? []) {
        openCall(piece.index).name += piece.function.name ?? '';
        openCall(piece.index).input += piece.function.arguments ?? '';
      }
    }
  }
  const calls = [...heard.calls.values()].map((call) => ({ ...call, input: JSON.parse(call.input || '{}') }));
  return { ...heard, calls };
}

function toHeard(content: AssistantBlock[]): Heard {
  const join = (type: 'text' | 'reasoning') =>
    content.map((block) => (block.type === type ? block.text : '')).join('');
  return {
    text: join('text'),
    reasoning: join('reasoning'),
    calls: content.flatMap((block) =>
      block.type === 'tool-call' ? [{ name: block.name, input: block.input }] : [],
    ),
  };
}

describe.skipIf(recordings.length === 0)('a recorded stream gives the right answer', () => {
  const standIn = useStandIn();

  async function replay(file: string) {
    const name = file.replace('.chunks.txt', '');
    const lines = readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    const protocol: ProtocolName = file.startsWith('anthropic') ? 'anthropic' : 'openai';
    await standIn.client().script(name, [{ chunks: lines }]);
    let streamed = '';
    const outcome = ask(await standIn.model(protocol, name), {
      onDelta: (delta) => {
        if (delta.kind === 'text') streamed += delta.text;
      },
    });
    return { name, lines, protocol, outcome, streamed: () => streamed };
  }

  it.each(recordings.filter((file) => !file.includes('refusal')))('%s', async (file) => {
    const { name, lines, protocol, outcome, streamed } = await replay(file);
    const answer = answerOf(await outcome);
    const expected = hear(protocol, lines);
    expect(toHeard(answer.content)).toEqual(expected);
    expect(streamed()).toBe(expected.text);
    expect(expected.text.length + expected.calls.length).toBeGreaterThan(0);
    const facts = FACTS[name];
    if (facts === undefined) throw new Error(`no facts are written down for ${name}`);
    const [input, input_cached, output, reasoning] = facts.usage;
    const usage: Usage = { input, input_cached, input_cache_write: 0, output, reasoning };
    expect(answer).toMatchObject({ usage, finish: facts.finish, model: facts.model });
    const ids = answer.content.flatMap((block) => (block.type === 'tool-call' ? [block.id] : []));
    expect(new Set(ids).size).toBe(expected.calls.length);
    expect(ids.every((id) => lines.some((line) => line.includes(`"${id}"`)))).toBe(true);
  });

  it.each(recordings.filter((file) => file.includes('refusal')))(
    '%s is a refusal with its reason',
    async (file) => {
      const { outcome } = await replay(file);
      await expect(outcome).rejects.toMatchObject({
        data: {
          code: 'model_refused',
          detail: expect.stringContaining('violative cyber content'),
          facts: { provider: 'anthropic', finish: 'refusal' },
        },
      });
    },
  );
});
