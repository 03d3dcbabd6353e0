/** The exact bytes that a small conversation is on the wire. A change to a golden file is read, not regenerated. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { askModel, createPromptBuilder, type ToolSchema } from '../../durable/models/index.ts';
import type { SurfaceEvent } from '../../durable/transcript/events.ts';
import { answerOf, PROTOCOLS, type ProtocolName, READ, useStandIn } from './stand-in.ts';
import { answered, resulted, said } from './surface.ts';

const SYSTEM = 'You are a clerk.\n\nUse the clock for times.';
const PIXEL = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10]);
const TOOLS: ToolSchema[] = [
  {
    name: 'clock',
    description: 'Tells the time in a zone.',
    input: {
      type: 'object',
      properties: { zone: { type: 'string' } },
      required: ['zone'],
      additionalProperties: false,
    },
  },
];
const META = { anthropic: { signature: 'c2lnbmVk' } };

const SURFACE: SurfaceEvent[] = [
  said(1, [
    { type: 'text', text: 'What time is it where this was taken?' },
    { type: 'image', media_type: 'image/png', blob: 'pixel', bytes: 8, name: 'taken.png' },
    { type: 'file', media_type: 'application/zip', blob: 'zip', bytes: 3, name: 'more.zip' },
  ]),
  said(2, 'Answer in one line.', { kind: 'plugin', name: 'brevity' }),
  answered(3, [
    { type: 'reasoning', text: 'It looks like Oslo.', meta: META },
    { type: 'text', text: 'I will look.' },
    { type: 'tool-call', id: 'call_a', name: 'clock', input: { zone: 'Europe/Oslo' } },
    { type: 'tool-call', id: 'call_b', name: 'clock', input: {}, malformed: '{"zone"' },
  ]),
  resulted(4, 'call_a', '12:00'),
  resulted(5, 'call_b', 'The arguments are no JSON object.', { error: 'invalid_arguments' }),
];
const MORE: SurfaceEvent[] = [
  answered(6, [{ type: 'text', text: 'It is noon.' }], 2),
  said(7, 'Thanks. And in UTC?'),
];

describe.each(PROTOCOLS)('over %s', (protocol) => {
  const standIn = useStandIn();

  /** The bodies of two requests of one conversation, the second with a further exchange. */
  async function send(name: string, protocolName: ProtocolName): Promise<[string, string]> {
    await standIn.client().script(name, [{ text: 'ok' }], { repeat: true });
    const model = await standIn.model(protocolName, name);
    const builder = createPromptBuilder(model, () => PIXEL);
    for (const events of [SURFACE, MORE]) {
      builder.append(events);
      const call = builder.toCall({
        system: SYSTEM,
        tools: TOOLS,
        options: { maxOutputTokens: 1000, temperature: 0 },
      });
      answerOf(await askModel(model, call, READ));
    }
    const [first, second] = await standIn.client().requests(name);
    if (first === undefined || second === undefined) throw new Error('two requests were sent');
    return [first.body, second.body];
  }

  it('a conversation with a tool call is these bytes', async () => {
    const [body] = await send('golden-model', protocol);
    const golden = readFileSync(new URL(`golden/${protocol}.json`, import.meta.url), 'utf8');
    expect(JSON.parse(body)).toEqual(JSON.parse(golden));
    // White space in the file, none on the wire: otherwise the same bytes, members in the same order.
    expect(body).toBe(JSON.stringify(JSON.parse(golden)));
  });

  it('equal input is equal bytes, and a request is a prefix of the next', async () => {
    const [first, second] = await send(`golden-${protocol}-1`, protocol);
    const [again] = await send(`golden-${protocol}-1`, protocol);
    expect(again).toBe(first);
    const messages = (body: string) => JSON.stringify(JSON.parse(body).messages).slice(0, -1);
    expect(messages(second).startsWith(messages(first))).toBe(true);
    const { messages: _a, ...headOfFirst } = JSON.parse(first);
    const { messages: _b, ...headOfSecond } = JSON.parse(second);
    expect(headOfSecond).toEqual(headOfFirst);
  });
});

describe('what Anthropic alone gets', () => {
  it('a cache breakpoint on the system text and nowhere else', () => {
    const golden = readFileSync(new URL('golden/anthropic.json', import.meta.url), 'utf8');
    expect(golden.match(/cache_control/g)).toHaveLength(1);
    expect(JSON.parse(golden).system).toEqual([
      { type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral' } },
    ]);
  });

  it('its own signed reasoning back', () => {
    const bodies = PROTOCOLS.map((name) =>
      readFileSync(new URL(`golden/${name}.json`, import.meta.url), 'utf8'),
    );
    expect(bodies.map((body) => body.includes('It looks like Oslo.'))).toEqual([false, true]);
    expect(bodies[1]).toContain('"signature": "c2lnbmVk"');
  });
});
