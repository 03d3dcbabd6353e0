/**
 * A model inside the isolate that answers at once, and notes the clock around the object's own work: from the moment
 * an answer is handed over to the next request. Each request first gives the event loop a turn, as a network would,
 * so that the rows of a step are committed before the next answer and not in one heap at the end.
 */
import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ProviderDefinition } from '../../../durable/models/index.ts';
import { createFineClock } from './fine-clock.ts';

/** Milliseconds of own work before each request of a model name, in order; the first of a turn is not among them. */
const marks = new Map<string, number[]>();

export function takeMarks(model: string): number[] {
  const taken = marks.get(model) ?? [];
  marks.delete(model);
  return taken;
}

/** `calls-<n>-<anything>`: n answers that call the tool, then one of text. */
export const instantProvider: ProviderDefinition = {
  name: 'instant',
  create: () => ({ metaKey: 'instant', accepts: () => false, model: (id) => createInstantModel(id) }),
};

function note(model: string, ms: number): void {
  const known = marks.get(model);
  if (known) known.push(ms);
  else marks.set(model, [ms]);
}

const PIECES = 8;
const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 900, noCache: 900, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 60, text: 60, reasoning: 0 },
};

function createInstantModel(modelId: string): LanguageModelV4 {
  const calls = Number(modelId.split('-')[1] ?? '0');
  let step = 0;
  const clock = createFineClock(() => performance.now());
  return {
    specificationVersion: 'v4',
    provider: 'instant',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('this model only streams')),
    async doStream() {
      if (step > 0) note(modelId, clock.stop());
      await new Promise((resolve) => setTimeout(resolve, 0));
      const parts = step < calls ? toCall(step) : toText();
      step = step < calls ? step + 1 : 0;
      clock.start();
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

function toText(): LanguageModelV4StreamPart[] {
  return [...spoken('That is all there is to say about it. '), finish('stop')];
}

function toCall(step: number): LanguageModelV4StreamPart[] {
  return [
    ...spoken('I look the service up. '),
    {
      type: 'tool-call',
      toolCallId: `call_${step}`,
      toolName: 'look_up',
      input: JSON.stringify({ key: `payments-${step}` }),
    },
    finish('tool-calls'),
  ];
}

function spoken(text: string): LanguageModelV4StreamPart[] {
  const pieces = Array.from({ length: PIECES }, (): LanguageModelV4StreamPart => {
    return { type: 'text-delta', id: 't', delta: text };
  });
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 't' },
    ...pieces,
    { type: 'text-end', id: 't' },
  ];
}

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart {
  return { type: 'finish', finishReason: { unified, raw: unified }, usage: USAGE };
}
