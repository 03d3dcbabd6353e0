/**
 * What the stand-in model says. Its name is the script, with anything behind it. Pure.
 *
 *   calls-<n>               calls the tool `look_up` in n answers of a turn, each after a sentence, then answers with text
 *   deltas-<n>-every-<ms>   answers with n pieces of text, so far apart; 0 is as fast as it goes
 */
const SENTENCE =
  'The entry of the catalogue says what the service does, who owns it and where its run book is. ';
/** Pieces of a text answer, and of the sentence before a call. */
const TEXT_DELTAS = 40;
const CALL_DELTAS = 10;
const DELTA_CHARS = 12;

type Message = { role: string };
const PACED = /^deltas-(\d+)-every-(\d+)/;

/** Milliseconds from one piece of an answer to the next; null where they follow each other at once. */
export function paceOf(model: string): number | null {
  return Number(PACED.exec(model)?.[2] ?? '0') || null;
}

/** The answer's payloads, without their framing. `messages` are the request's. */
export function planAnswer(model: string, messages: readonly Message[]): string[] {
  const calls = Number(/^calls-(\d+)/.exec(model)?.[1] ?? '0');
  const lastPrompt = messages.findLastIndex(({ role }) => role === 'user');
  const answered = messages.slice(lastPrompt).filter(({ role }) => role === 'tool').length;
  const total = messages.filter(({ role }) => role === 'tool').length;
  const payloads =
    answered < calls ? sayCall(model, total) : sayText(model, Number(PACED.exec(model)?.[1] ?? TEXT_DELTAS));
  return payloads.map((payload) => JSON.stringify(payload));
}

function head(model: string) {
  return { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model };
}

function choice(model: string, delta: object, finish: string | null = null): object {
  return { ...head(model), choices: [{ index: 0, delta, finish_reason: finish }] };
}

function pieces(model: string, count: number): object[] {
  const text = SENTENCE.repeat(Math.ceil((count * DELTA_CHARS) / SENTENCE.length));
  return Array.from({ length: count }, (_, i) =>
    choice(model, { content: text.slice(i * DELTA_CHARS, (i + 1) * DELTA_CHARS) }),
  );
}

function usage(model: string): object {
  return {
    ...head(model),
    choices: [],
    usage: { prompt_tokens: 900, completion_tokens: 60, total_tokens: 960 },
  };
}

function sayText(model: string, deltas: number): object[] {
  return [
    choice(model, { role: 'assistant', content: '' }),
    ...pieces(model, deltas),
    choice(model, {}, 'stop'),
    usage(model),
  ];
}

function sayCall(model: string, n: number): object[] {
  const call = (more: object): object => choice(model, { tool_calls: [{ index: 0, ...more }] });
  return [
    choice(model, { role: 'assistant', content: '' }),
    ...pieces(model, CALL_DELTAS),
    call({ id: `call_${n}`, type: 'function', function: { name: 'look_up', arguments: '' } }),
    call({ function: { arguments: '{"key":' } }),
    call({ function: { arguments: `"payments-${n}"}` } }),
    choice(model, {}, 'tool_calls'),
    usage(model),
  ];
}
