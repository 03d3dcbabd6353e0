/** Recorded streams of real providers, served over HTTP, through the whole worker and into the log. */
import { describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { createPerch, models, uniqueModel } from '../support/perch.ts';

const recordings = Object.entries(inject('recordings'));

/** `[input, cached, output, reasoning]`, read off the recordings; xAI counts reasoning beside the completion. */
const USAGE: Record<string, [number, number, number, number]> = {
  'alibaba-tool-call': [295, 0, 22, 0],
  'anthropic-json-other-tool.1': [843, 0, 28, 0],
  'anthropic-message-delta-input-tokens': [61, 0, 2, 0],
  'anthropic-text': [12, 0, 30, 0],
  'anthropic-tool-no-args': [565, 0, 48, 0],
  'deepseek-reasoning': [18, 0, 219, 205],
  'deepseek-text': [13, 0, 400, 0],
  'deepseek-tool-call': [339, 320, 83, 39],
  'groq-tool-call': [210, 0, 15, 0],
  'openai-text': [16, 0, 300, 0],
  'xai-text': [12, 11, 342, 340],
  'xai-tool-call': [307, 306, 253, 227],
};

const delta = z.looseObject({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
});
const payload = z.looseObject({
  choices: z.array(z.looseObject({ delta })).optional(),
  delta: delta.optional(),
});

/** What a person would read off the raw lines. */
function readLines(lines: string[]): { text: string; reasoning: string } {
  const deltas = lines.flatMap((line) => {
    const { choices = [], delta: own } = payload.parse(JSON.parse(line));
    return own ? [own] : choices.map((choice) => choice.delta);
  });
  return {
    text: deltas.map(({ content, text }) => content ?? text ?? '').join(''),
    reasoning: deltas.map(({ reasoning_content, thinking }) => reasoning_content ?? thinking ?? '').join(''),
  };
}

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
});
const logged = z.looseObject({ content: z.array(block), usage: z.record(z.string(), z.number()) });

describe.skipIf(recordings.length === 0)('a recorded stream', () => {
  it.each(recordings)(
    '%s is in the log as it was sent: text, reasoning, calls, usage',
    async (name, lines) => {
      const perch = await createPerch();
      const model = uniqueModel();
      const provider = name.startsWith('anthropic') ? 'stand-in-anthropic' : 'stand-in';
      await models.script(model, [{ chunks: lines }, { text: 'after the calls' }]);
      const session = await perch.open({ agent: 'stand-in', model: `${provider}/${model}` });
      const answer = await perch.ask(session, 'go');
      if (name === 'anthropic-refusal') {
        expect(answer.reason).toMatchObject({ kind: 'error', error: { code: 'model_refused' } });
        return;
      }
      const [first] = await perch.events(session, 'assistant/message');
      const { content, usage } = logged.parse(first);
      const textOf = (type: string): string =>
        content
          .filter((part) => part.type === type)
          .map(({ text }) => text ?? '')
          .join('');
      expect({ text: textOf('text'), reasoning: textOf('reasoning') }).toEqual(readLines(lines));
      const calls = content.filter(({ type }) => type === 'tool-call');
      if (name.includes('tool')) expect(calls).toHaveLength(1);
      else expect(calls).toHaveLength(0);
      const [input, cached, output, reasoning] = USAGE[name] ?? [0, 0, 0, 0];
      expect(usage).toMatchObject({ input, input_cached: cached, output, reasoning });
      // Every call has its result, and the turn went on with it.
      expect(await perch.events(session, 'tool/result')).toHaveLength(calls.length);
      expect(answer.reason.kind).toBe(name === 'deepseek-text' ? 'max-tokens' : 'completed');
    },
  );
});
