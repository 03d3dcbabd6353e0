/** What a client waits for that comes back in the middle of an answer. */
import { z } from 'zod';

export interface Reconnect {
  /** From the request to the first text of the running answer that the client lacks. */
  ms: number;
  /** That text, where it stands in the answer, and where to go on behind it. */
  text: string;
  offset: number;
  cursor: string;
}

const delta = z.object({ offset: z.number(), text: z.string() });
const DELTA = /(?:^|\n\n)id: (\S+)\nevent: delta\ndata: (.*)\n\n/;

/** `open` asks for the session's stream with the client's last id. Leaves the stream. Throws where it ends without text. */
export async function measureReconnect(
  open: () => Promise<Response>,
  nowMs: () => number,
): Promise<Reconnect> {
  const asked = nowMs();
  const { body } = await open();
  if (body === null) throw new Error('no stream');
  let seen = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    seen += piece;
    const [, cursor, data] = DELTA.exec(seen) ?? [];
    if (cursor === undefined || data === undefined) continue;
    return { ms: nowMs() - asked, cursor, ...delta.parse(JSON.parse(data)) };
  }
  throw new Error(`no text came: ${seen.slice(0, 500)}`);
}
