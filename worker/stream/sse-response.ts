import type { Frame } from '../../durable/rpc.ts';
import { buildProblem } from '../http/index.ts';
import type { Feed } from './feed.ts';
import { formatSse, SSE_HEARTBEAT, SSE_RETRY } from './sse.ts';

/** Shorter than the idle timeout of the proxies in between (60 s is common). */
const HEARTBEAT_MS = 15_000;

/** What to send for some frames, and whether the stream is then complete. */
export interface SsePiece {
  text: string;
  last: boolean;
}

/**
 * A feed as a response: `first`, then what `render` makes of the frames, a heartbeat where nothing is sent for 15 s.
 * It is pulled, so a slow client is served at its own pace; one that leaves closes the feed. A feed that ends by
 * itself ends the stream with an `error` event, whose data is a problem document.
 */
export function answerSse(
  feed: Feed,
  first: string,
  render: (frames: readonly Frame[]) => SsePiece,
): Response {
  const encoder = new TextEncoder();
  let opening: string | null = SSE_RETRY + first;
  let left = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = opening === null ? await readPiece(feed, render) : { text: opening, last: false };
        opening = null;
        if (left) return;
        if (piece.text !== '') controller.enqueue(encoder.encode(piece.text));
        if (!piece.last) return;
        feed.close();
        controller.close();
      },
      cancel() {
        left = true;
        feed.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
}

/** Waits until there is something to send: a stream is pulled again only after it got something. */
async function readPiece(feed: Feed, render: (frames: readonly Frame[]) => SsePiece): Promise<SsePiece> {
  const due = Date.now() + HEARTBEAT_MS;
  for (;;) {
    const frames = await feed.next(Math.max(0, due - Date.now()));
    if (frames === null) return { text: renderFailure(feed), last: true };
    const piece = render(frames);
    if (piece.text !== '' || piece.last) return piece;
    if (Date.now() >= due) return { text: SSE_HEARTBEAT, last: false };
  }
}

function renderFailure(feed: Feed): string {
  const failure = feed.failure();
  return failure === null ? '' : formatSse({ event: 'error', data: JSON.stringify(buildProblem(failure)) });
}
