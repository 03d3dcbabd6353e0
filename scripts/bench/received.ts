/** What a viewer got, read when all is over. */
import { z } from 'zod';
import { createCursor, parsePlace, type StreamFrame } from '../../durable/stream-cursor.ts';
import { parseFrame } from '../../worker/stream/frames.ts';
import type { Way } from './viewer.ts';

export interface Received {
  /** The text of the answers as their deltas had it, restarts obeyed. */
  text: string;
  /** UTF-16 units of frames that the viewer had already. */
  repeated: number;
  /** Where to go on behind the last complete frame; null before the first. */
  cursor: string | null;
}

/** `after` is where the viewer began. */
export function readReceived(way: Way, received: string, after: string): Received {
  const frames = way === 'sse' ? readEvents(received) : readMessages(received);
  const place = parsePlace(after);
  if (place === null) throw new Error(`no place: ${after}`);
  const cursor = createCursor(place);
  const texts = new Map<string, string>();
  let repeated = 0;
  for (const frame of frames) {
    const news = cursor.advance(frame);
    repeated += measureFrame(frame) - (news === null ? 0 : measureFrame(news));
    if (news === null || news.frame === 'event') continue;
    const step = `${news.turn}.${news.step}`;
    if (news.frame === 'restart') texts.set(step, '');
    else if (news.kind === 'text') texts.set(step, (texts.get(step) ?? '') + news.text);
  }
  return { text: [...texts.values()].join(''), repeated, cursor: frames.at(-1)?.cursor ?? null };
}

function measureFrame(frame: StreamFrame): number {
  if (frame.frame === 'event') return frame.data.length;
  return frame.frame === 'delta' ? frame.text.length : 0;
}

function readMessages(received: string): StreamFrame[] {
  return received.split('\n').filter(Boolean).map(parseFrame).filter(isStreamFrame);
}

const placed = z.looseObject({ seq: z.number(), turn: z.number().optional() });

/** The blank line behind an event ends it; what has none is not complete. */
function readEvents(received: string): StreamFrame[] {
  return received
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block): StreamFrame[] => {
      const lines = block.split('\n');
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [event, data, cursor] = [field('event'), field('data'), field('id')];
      if (event === undefined || data === undefined || cursor === undefined) return [];
      if (event === 'delta' || event === 'restart') {
        const frame = parseFrame(JSON.stringify({ frame: event, ...JSON.parse(data) }));
        return isStreamFrame(frame) ? [{ ...frame, cursor }] : [];
      }
      const { seq, turn = null } = placed.parse(JSON.parse(data));
      return [{ frame: 'event', seq, type: event, turn, data, cursor }];
    });
}

function isStreamFrame(frame: ReturnType<typeof parseFrame>): frame is StreamFrame {
  return frame.frame === 'event' || frame.frame === 'delta' || frame.frame === 'restart';
}
