/** Answers in the two providers' words: a list of payloads, to be framed as server-sent events. */
import type { Spoken } from './model-script.ts';

export type Protocol = 'openai' | 'anthropic';

export function frameOf(protocol: Protocol, payload: string): string {
  if (protocol === 'openai') return `data: ${payload}\n\n`;
  const type = /"type"\s*:\s*"([a-z_]+)"/.exec(payload)?.[1] ?? 'message';
  return `event: ${type}\ndata: ${payload}\n\n`;
}

export function payloadsOf(protocol: Protocol, model: string, answer: Spoken): string[] {
  const payloads = protocol === 'openai' ? openAiPayloads(model, answer) : anthropicPayloads(model, answer);
  return payloads.map((payload) => JSON.stringify(payload));
}

function openAiPayloads(model: string, answer: Spoken): unknown[] {
  const head = { id: 'chatcmpl-test', object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const delta = (value: unknown, finish: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta: value, finish_reason: finish }],
  });
  const calls = answer.tool_calls ?? [];
  const { input, output } = usageOf(answer);
  return [
    delta({ role: 'assistant', content: '' }),
    ...(answer.reasoning === undefined ? [] : [delta({ reasoning_content: answer.reasoning })]),
    ...piecesOf(answer).map((content) => delta({ content })),
    ...calls.map((call, index) =>
      delta({
        tool_calls: [
          { index, id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } },
        ],
      }),
    ),
    delta({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    {
      ...head,
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    },
  ];
}

function anthropicPayloads(model: string, answer: Spoken): unknown[] {
  const { input, output } = usageOf(answer);
  const calls = answer.tool_calls ?? [];
  const blocks = [
    ...(answer.reasoning === undefined ? [] : [thinkingBlock(answer.reasoning)]),
    ...(answer.text === undefined ? [] : [textBlock(piecesOf(answer))]),
    ...calls.map(toolBlock),
  ];
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_test',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: input, output_tokens: 1 },
      },
    },
    ...blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block.start },
      ...block.deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: 'message_stop' },
  ];
}

function thinkingBlock(thinking: string) {
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature: 'signature-of-the-test' },
    ],
  };
}

function textBlock(pieces: string[]) {
  return { start: { type: 'text', text: '' }, deltas: pieces.map((text) => ({ type: 'text_delta', text })) };
}

function toolBlock(call: { id: string; name: string; arguments: string }) {
  return {
    start: { type: 'tool_use', id: call.id, name: call.name, input: {} },
    deltas: [{ type: 'input_json_delta', partial_json: call.arguments }],
  };
}

function usageOf(answer: Spoken): { input: number; output: number } {
  return answer.usage ?? { input: 10, output: Math.max(1, Math.ceil((answer.text ?? '').length / 4)) };
}

function piecesOf(answer: Spoken): string[] {
  const text = answer.text ?? '';
  const size = Math.max(1, Math.ceil(text.length / (answer.deltas ?? 5)));
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}
