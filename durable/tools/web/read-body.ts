/** A response's body, in memory and bounded. */
import { fetchFailed, fetchTooLarge } from '../../errors.ts';
import { untilAborted } from '../../time-limit.ts';

/** What the runtimes undo by themselves. */
const KNOWN_CODINGS = new Set(['', 'identity', 'gzip', 'x-gzip', 'br', 'deflate']);

/**
 * The bytes as they are after decompression: that is where they are counted, so that a small body which unpacks to a
 * large one ends at the limit. Throws `fetch_too_large` past `limit` bytes, `fetch_failed` for a body that breaks off, and
 * the signal's reason. Whatever happens, the rest of the body is let go.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let finished = false;
  try {
    while (true) {
      const { done, value } = await readChunk(reader, signal);
      if (done) break;
      length += value.byteLength;
      if (length > limit) throw fetchTooLarge(`The body is longer than ${limit} bytes.`, { limit });
      chunks.push(value);
    }
    finished = true;
  } finally {
    // Not awaited: a body that never ends may never settle this either.
    if (!finished) reader.cancel().catch(() => undefined);
  }
  return join(chunks, length);
}

async function readChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await untilAborted(reader.read(), signal);
  } catch {
    signal.throwIfAborted();
    throw fetchFailed('The connection broke before the body was complete.');
  }
}

/** Lets go of a body that nobody reads, so that its connection is free. */
export function dropBody({ body }: Response): void {
  body?.cancel().catch(() => undefined);
}

/** The coding that the runtime did not undo; null where the bytes are the content. */
export function findForeignCoding(headers: Headers): string | null {
  const codings = (headers.get('content-encoding') ?? '').toLowerCase().split(',');
  return codings.map((coding) => coding.trim()).find((coding) => !KNOWN_CODINGS.has(coding)) ?? null;
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
