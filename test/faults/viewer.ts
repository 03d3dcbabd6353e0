/**
 * Somebody who watches a session over HTTP as a browser would: events by seq, text by offset. What does not fit
 * together is a finding.
 */
import { z } from 'zod';
import type { Perch } from '../support/perch.ts';

export interface Viewer {
  findings: string[];
  /** The newest event seen. */
  lastSeq: () => number;
  types: () => readonly string[];
  /** Drops the connection and opens another where it was. */
  reconnect: () => Promise<void>;
  close: () => void;
}

const delta = z.looseObject({
  turn: z.number(),
  step: z.number(),
  attempt: z.number(),
  offset: z.number(),
  kind: z.string(),
  text: z.string(),
});
const answer = z.looseObject({
  turn: z.number(),
  step: z.number(),
  attempt: z.number(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});
const place = z.looseObject({ seq: z.number(), type: z.string() });

export async function openViewer(perch: Perch, session: string): Promise<Viewer> {
  const findings: string[] = [];
  const types: string[] = [];
  /** Text by turn, step, attempt and kind. */
  const texts = new Map<string, string>();
  /** Steps whose answer has been seen: no text of theirs comes after it. */
  const answered = new Set<string>();
  let last = 0;
  let connection = 0;
  let reader: ReadableStreamDefaultReader<string> | null = null;

  const takeDelta = (data: string): void => {
    const { turn, step, attempt, offset, kind, text } = delta.parse(JSON.parse(data));
    const key = `${turn}.${step}.${attempt}.${kind}`;
    if (answered.has(`${turn}.${step}`)) findings.push(`text of ${key} after the answer`);
    const known = texts.get(key) ?? '';
    if (offset !== known.length) findings.push(`text of ${key} at ${offset} after ${known.length} units`);
    texts.set(key, known + text);
  };
  const takeAnswer = (data: string): void => {
    const { turn, step, attempt, content } = answer.parse(JSON.parse(data));
    answered.add(`${turn}.${step}`);
    const whole = content.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
    const seen = texts.get(`${turn}.${step}.${attempt}.text`) ?? '';
    if (!whole.startsWith(seen)) findings.push(`saw “${seen}” of “${whole}” (${turn}.${step}.${attempt})`);
  };
  const take = (event: string, data: string): void => {
    if (event === 'delta') {
      takeDelta(data);
      return;
    }
    const placed = place.safeParse(JSON.parse(data));
    if (!placed.success) return;
    const { seq, type } = placed.data;
    if (seq !== last + 1) findings.push(`event ${seq} after ${last}`);
    last = seq;
    types.push(type);
    if (type === 'assistant/message') takeAnswer(data);
  };
  const read = async (own: number, from: ReadableStreamDefaultReader<string>): Promise<void> => {
    let rest = '';
    for (;;) {
      const part = await from.read().catch(() => null);
      if (part === null || part.done || own !== connection) return;
      const blocks = (rest + part.value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, event = ''] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (data !== undefined) take(event, data);
      }
    }
  };
  const connect = async (): Promise<void> => {
    const own = ++connection;
    const response = await perch.request('GET', `/v1/sessions/${session}/events`, undefined, {
      accept: 'text/event-stream',
      'last-event-id': String(last),
    });
    const stream = response.body?.pipeThrough(new TextDecoderStream());
    if (response.status !== 200 || !stream) return;
    reader = stream.getReader();
    void read(own, reader);
  };
  const close = (): void => {
    connection++;
    reader?.cancel().catch(() => 'it has ended');
    reader = null;
  };
  await connect();
  return {
    findings,
    lastSeq: () => last,
    types: () => types,
    async reconnect() {
      close();
      // A new connection gets the text so far from its beginning.
      texts.clear();
      await connect();
    },
    close,
  };
}
