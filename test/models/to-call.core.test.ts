import { describe, expect, it } from 'vitest';
import { createPromptBuilder, toCallOptions } from '../../durable/models/index.ts';
import type { ContentBlock, SurfaceEvent } from '../../durable/transcript/events.ts';
import { answered, quietModel, readNoBlob, resulted, said } from './surface.ts';

const BYTES = new TextEncoder().encode('alpha\nbeta');
const readBlob = () => BYTES;
const NO_TOOLS: [] = [];

function promptOf(surface: SurfaceEvent[], model = quietModel(), system = 'You help.') {
  return toCallOptions({ system, tools: NO_TOOLS, options: {}, surface, readBlob }, model).prompt;
}

function blob(type: 'image' | 'file', media_type: string, name?: string): ContentBlock {
  return { type, media_type, blob: 'd1', bytes: BYTES.length, ...(name === undefined ? {} : { name }) };
}

const CALLS = answered(2, [
  { type: 'reasoning', text: 'hm', meta: { quiet: { signature: 's1' } } },
  { type: 'text', text: 'Let me see.' },
  { type: 'tool-call', id: 'c1', name: 'clock', input: { zone: 'UTC' } },
  { type: 'tool-call', id: 'c2', name: 'clock', input: {}, malformed: '{"zone"' },
]);
const SURFACE = [
  said(1, 'What time is it?'),
  CALLS,
  resulted(3, 'c1', '12:00'),
  resulted(4, 'c2', 'the arguments are no object', { error: 'invalid_arguments' }),
  said(5, 'And please be brief.'),
  answered(6, [{ type: 'tool-call', id: 'c3', name: 'clock', input: {} }], 2),
  resulted(7, 'c3', '12:01', { step: 2 }),
  answered(8, [{ type: 'text', text: 'Noon.' }], 3),
];

describe('a surface becomes a prompt', () => {
  it('puts the results of one step into one message, and those of another into their own', () => {
    expect(promptOf(SURFACE).map((message) => `${message.role} ${message.content.length}`)).toEqual([
      'system 9',
      'user 1',
      'assistant 4',
      'tool 2',
      'user 1',
      'assistant 1',
      'tool 1',
      'assistant 1',
    ]);
  });

  it('gives reasoning and calls back with the provider metadata, and malformed input as an empty object', () => {
    expect(promptOf(SURFACE)[2]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { quiet: { signature: 's1' } } },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'clock', input: { zone: 'UTC' } },
        { type: 'tool-call', toolCallId: 'c2', toolName: 'clock', input: {} },
      ],
    });
  });

  it('marks a failed result', () => {
    expect(promptOf(SURFACE)[3]?.content[1]).toMatchObject({
      toolCallId: 'c2',
      output: { type: 'error-text', value: 'the arguments are no object' },
    });
  });

  it('leaves out reasoning that another provider signed, and messages that this leaves empty', () => {
    const foreign = answered(2, [{ type: 'reasoning', text: 'hm', meta: { other: { signature: 's1' } } }]);
    expect(promptOf([said(1, 'Hi'), foreign]).map((message) => message.role)).toEqual(['system', 'user']);
  });

  it('leaves out assistant text of nothing but white space', () => {
    const blank = answered(2, [
      { type: 'text', text: ' \n' },
      { type: 'tool-call', id: 'c', name: 'clock', input: {} },
    ]);
    expect(promptOf([said(1, 'Hi'), blank])[2]?.content).toHaveLength(1);
  });

  it('has no system message where there is no system text', () => {
    expect(promptOf([said(1, 'Hi')], quietModel(), '').map((message) => message.role)).toEqual(['user']);
  });

  it('marks a source only for a model that wants it', () => {
    const source = { kind: 'skill-invocation', name: 'x', form: 'instructions', digest: 'd' } as const;
    const event = said(1, 'steps', source);
    expect(promptOf([event])[1]).not.toHaveProperty('providerOptions');
    expect(promptOf([event], quietModel([], { marksSource: true }))[1]?.providerOptions).toEqual({
      perch: source,
    });
  });
});

describe('files', () => {
  it('go as bytes to a model that takes them', () => {
    const model = quietModel(['image/png']);
    expect(promptOf([said(1, [blob('image', 'image/PNG; x=1', 'a.png')])], model)[1]?.content).toEqual([
      {
        type: 'file',
        mediaType: 'image/png',
        filename: 'a.png',
        data: { type: 'data', data: btoa('alpha\nbeta') },
      },
    ]);
  });

  it('of text go as text with a line that names them', () => {
    const content = [
      blob('file', 'text/markdown; charset=utf-8', 'notes.md'),
      blob('file', 'application/json'),
    ];
    expect(promptOf([said(1, content)])[1]?.content).toEqual([
      { type: 'text', text: '[file "notes.md" (text/markdown, 10 bytes)]\nalpha\nbeta' },
      { type: 'text', text: '[file (application/json, 10 bytes)]\nalpha\nbeta' },
    ]);
  });

  it('of another kind become a line that says what is not shown, on one line whatever their name', () => {
    expect(promptOf([said(1, [blob('image', 'image/png', 'x\n"].png')])])[1]?.content).toEqual([
      {
        type: 'text',
        text: '[image "x\\n\\"].png" (image/png, 10 bytes) is not shown: this model does not take it]',
      },
    ]);
  });

  it('in a tool result go as bytes only where the provider takes them there', () => {
    const result = resulted(1, 'c', [{ type: 'text', text: 'a chart' }, blob('image', 'image/png')]);
    const outputs = [false, true].map((toolResultMedia) => {
      const message = promptOf([result], quietModel(['image/png'], { toolResultMedia }))[1];
      return (
        message?.role === 'tool' && message.content[0]?.type === 'tool-result' && message.content[0].output
      );
    });
    expect(outputs).toEqual([
      {
        type: 'text',
        value:
          'a chart\n[image (image/png, 10 bytes) is not shown: this model does not take it in tool results]',
      },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a chart' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: btoa('alpha\nbeta') } },
        ],
      },
    ]);
  });
});

describe('a builder', () => {
  it('gives at every length what a conversion from scratch gives', () => {
    const builder = createPromptBuilder(quietModel(), readBlob);
    for (let end = 0; end <= SURFACE.length; end++) {
      builder.append(SURFACE.slice(builder.length, end));
      const { prompt } = builder.toCall({ system: 'You help.', tools: NO_TOOLS, options: {} });
      expect(prompt).toEqual(promptOf(SURFACE.slice(0, end)));
    }
  });

  it('gives a prompt that is a prefix of the next one', () => {
    const jsons = [2, 4, 7, 8].map((end) => JSON.stringify(promptOf(SURFACE.slice(0, end))).slice(0, -1));
    for (const [index, json] of jsons.slice(1).entries())
      expect(json.startsWith(jsons[index] ?? '?')).toBe(true);
  });

  it('converts only what is new', () => {
    let reads = 0;
    const builder = createPromptBuilder(quietModel(['image/png']), () => {
      reads += 1;
      return BYTES;
    });
    builder.append([said(1, [blob('image', 'image/png')])]);
    builder.append([said(2, 'more')]);
    builder.toCall({ system: 's', tools: NO_TOOLS, options: {} });
    expect([reads, builder.length]).toEqual([1, 2]);
  });

  it('starts anew after a reset, and follows a changed system text', () => {
    const builder = createPromptBuilder(quietModel(), readNoBlob);
    builder.append(SURFACE);
    builder.toCall({ system: 'old', tools: NO_TOOLS, options: {} });
    builder.reset();
    builder.append([said(9, 'Again')]);
    expect(builder.toCall({ system: 'new', tools: NO_TOOLS, options: {} }).prompt).toEqual(
      promptOf([said(9, 'Again')], quietModel(), 'new'),
    );
  });

  it('does not join the results of one step across a message', () => {
    const surface = [resulted(1, 'a', '1'), said(2, 'x'), resulted(3, 'b', '2')];
    expect(promptOf(surface).map((message) => message.role)).toEqual(['system', 'tool', 'user', 'tool']);
  });
});

it('passes on the settings that are set, and no others', () => {
  const options = { temperature: 0, stopSequences: ['END'], providerOptions: { quiet: { a: 1 } } };
  const tools = [{ name: 'clock', description: 'Tells the time', input: { type: 'object' as const } }];
  const call = toCallOptions({ system: 's', tools, options, surface: [], readBlob }, quietModel());
  expect(Object.keys(call)).toEqual(['prompt', 'tools', 'temperature', 'stopSequences', 'providerOptions']);
  expect(call).toMatchObject({
    ...options,
    tools: [
      { type: 'function', name: 'clock', description: 'Tells the time', inputSchema: { type: 'object' } },
    ],
  });
});
