import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import {
  askModel,
  createModelResolver,
  createPromptBuilder,
  offline,
  type ResolvedModel,
  type ToolSchema,
} from '../../durable/models/index.ts';
import type { SurfaceEvent } from '../../durable/transcript/events.ts';
import { answerOf, READ } from './stand-in.ts';
import { answered, readNoBlob, resulted, said } from './surface.ts';

const SYSTEM = 'You run on Perch.\n\nYou are a release clerk. You are brief.\nSecond line.\n\nMore.';
const TOOLS: ToolSchema[] = [
  { name: 'clock', description: 'Tells the time', input: { type: 'object' } },
  { name: 'todo', description: 'Keeps a list', input: { type: 'object' } },
];
const BODY = [
  '# Release notes',
  '',
  'Write them for people.',
  '',
  '## Steps',
  '1. Sort the changes',
  '2. Write one line for each',
  '```',
  '# no heading',
  '3. no step',
  '```',
].join('\n');

function skill(seq: number, body = BODY): SurfaceEvent {
  const text = `<skill_content name="release-notes">\n${body}\n</skill_content>`;
  return said(seq, text, {
    kind: 'skill-invocation',
    name: 'release-notes',
    form: 'instructions',
    digest: 'd',
  });
}

const resolve = createModelResolver([offline()], {});

async function call(surface: SurfaceEvent[], tools = TOOLS, id = 'instant') {
  const model: ResolvedModel = await resolve('offline', id);
  const builder = createPromptBuilder(model, readNoBlob);
  builder.append(surface);
  return { model, options: builder.toCall({ system: SYSTEM, tools, options: {} }) };
}

async function reply(surface: SurfaceEvent[], tools = TOOLS) {
  const { model, options } = await call(surface, tools);
  const answer = answerOf(await askModel(model, options, READ));
  const text = answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { ...answer, text, calls: answer.content.filter((block) => block.type === 'tool-call') };
}

describe('the offline model', () => {
  it('says that it is a demonstration, and what it was given', async () => {
    const { text, finish } = await reply([said(1, 'What can you do?')]);
    expect(text).toContain('This is a demonstration: no language model is at work here');
    expect(text).toContain('“You run on Perch.”');
    expect(text).toContain('“You are a release clerk. You are brief.”');
    expect(text).toContain('`clock`, `todo`');
    expect(text).toContain('You said: “What can you do?”');
    expect(finish).toBe('stop');
  });

  it('names an injected skill, follows its steps, and lays the words out under them', async () => {
    const { text } = await reply([said(1, '/release-notes for v2: faster search, fixed login'), skill(2)]);
    expect(text).toContain(
      'The skill “release-notes” was loaded, which begins with “Release notes” and “Steps”.',
    );
    expect(text).toContain(
      '1. Sort the changes\n2. Write one line for each\n\n## v2\n\n- Faster search\n- Fixed login',
    );
    expect(text).not.toContain('no step');
  });

  it('quotes only what was said, not what a lane added', async () => {
    const { text } = await reply([
      said(1, 'Hi'),
      said(2, 'Rules of the house', { kind: 'instructions', name: 'rules' }),
      said(3, 'call clock {}', { kind: 'plugin', name: 'p' }),
    ]);
    expect(text).toContain('You said: “Hi”');
    expect(text).not.toContain('Rules of the house');
    expect(text).not.toContain('call clock {}”');
  });

  it('calls an offered tool when a line asks for it', async () => {
    const { calls, finish, text } = await reply([said(1, 'Please:\ncall clock {"zone": "UTC"}\ncall todo')]);
    expect(calls).toMatchObject([
      { name: 'clock', input: { zone: 'UTC' } },
      { name: 'todo', input: {} },
    ]);
    expect(new Set(calls.map((block) => block.type === 'tool-call' && block.id)).size).toBe(2);
    expect(finish).toBe('tool-calls');
    expect(text).toContain('Calling `clock`, `todo` as asked.');
  });

  it('passes malformed input on as it is, as a model would', async () => {
    const { calls } = await reply([said(1, 'call clock {"zone": ')]);
    expect(calls).toMatchObject([{ input: {}, malformed: '{"zone":' }]);
  });

  it('calls nothing that is not offered, and says so', async () => {
    const { calls, text } = await reply([said(1, 'call rocket {}')]);
    expect(calls).toEqual([]);
    expect(text).toContain('There is no tool named “rocket” here.');
    expect((await reply([said(1, 'call clock {}')], [])).text).toContain('There are no tools.');
  });

  it.each(['Did you call clock {}?', 'call clock now', 'recall clock {}'])(
    'takes %j for prose',
    async (text) => {
      expect((await reply([said(1, text)])).calls).toEqual([]);
    },
  );

  it('answers with the result, and does not call again', async () => {
    const asked = [
      said(1, 'call clock {}'),
      answered(2, [{ type: 'tool-call', id: 'c', name: 'clock', input: {} }]),
      resulted(3, 'c', '12:00 UTC'),
    ];
    const { text, calls, finish } = await reply(asked);
    expect(text).toBe('The tool `clock` answered:\n\n12:00 UTC');
    expect([calls, finish]).toEqual([[], 'stop']);
    const more = await reply([...asked, said(4, 'call todo {}')]);
    expect(more.text).toContain('12:00 UTC');
    expect(more.calls).toMatchObject([{ name: 'todo' }]);
  });

  it('gives a repeated call of a later turn another id', async () => {
    const first = await reply([said(1, 'call clock {}')]);
    const id = (calls: typeof first.calls) => calls[0]?.type === 'tool-call' && calls[0].id;
    const later = await reply([
      said(1, 'call clock {}'),
      answered(2, first.calls),
      resulted(3, String(id(first.calls)), '12:00'),
      answered(4, [{ type: 'text', text: 'It is noon.' }], 2),
      said(5, 'call clock {}'),
    ]);
    expect(id(later.calls)).not.toBe(id(first.calls));
  });

  it('says the same to the same, with and without pauses, word by word', async () => {
    const surface = [said(1, '/release-notes a, b'), skill(2)];
    const streams: LanguageModelV4StreamPart[][] = [];
    const times: number[] = [];
    for (const id of ['instant', 'instant', 'demo']) {
      const { model, options } = await call(surface, TOOLS, id);
      const started = performance.now();
      const { stream } = await model.adapter.doStream(options);
      const parts: LanguageModelV4StreamPart[] = [];
      for await (const part of stream) parts.push(part);
      streams.push(parts.filter((part) => part.type !== 'response-metadata'));
      times.push(performance.now() - started);
    }
    expect(streams[1]).toEqual(streams[0]);
    expect(streams[2]).toEqual(streams[0]);
    const words = streams[0]?.filter((part) => part.type === 'text-delta') ?? [];
    expect(words.length).toBeGreaterThan(50);
    expect(words.every((part) => part.delta.trim().split(/\s/).length === 1)).toBe(true);
    expect(times[2]).toBeGreaterThan(words.length * 8);
  });

  it('stops when it is aborted, and keeps what it said', async () => {
    const { model, options } = await call([said(1, 'Hi')], TOOLS, 'demo');
    const stop = new AbortController();
    let words = 0;
    const outcome = await askModel(model, options, {
      ...READ,
      signal: stop.signal,
      onDelta: () => {
        words += 1;
        if (words === 3) stop.abort();
      },
    });
    expect(outcome).toMatchObject({ kind: 'aborted', partial: { content: [{ text: 'This is a' }] } });
  });

  it('counts what it was given and what it said, by estimate', async () => {
    const short = await reply([said(1, 'Hi')]);
    const long = await reply([said(1, 'Hi '.repeat(1000))]);
    expect(short.usage.output).toBe(Math.ceil(new TextEncoder().encode(short.text).length / 4));
    expect(long.usage.input - short.usage.input).toBeGreaterThan(700);
  });

  it('takes a line without a source as said', async () => {
    const model = await resolve('offline', 'instant');
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello there' }] }];
    const answer = answerOf(await askModel(model, { prompt }, READ));
    expect(JSON.stringify(answer.content)).toContain('You said: “Hello there”');
  });
});
