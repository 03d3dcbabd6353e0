/**
 * As much of RFC 6455 as a viewer needs, over the bytes of a connection that was upgraded: a client of a library would
 * take more of the machine for its two hundred sockets than the service does.
 */
import { randomBytes } from 'node:crypto';

const TEXT = 0x1;
const OPCODE = 0x0f;
const FINAL = 0x80;
const MASKED = 0x80;
/** Section 5.2: these lengths say that the length follows, in two bytes or in eight. */
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Takes bytes as they come and hands on the text messages in them. Throws for one in fragments: nobody sends those. */
export function createFrameReader(onText: (message: Buffer) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let frame = readFrame(rest); frame !== null; frame = readFrame(rest)) {
      rest = rest.subarray(frame.end);
      if (!frame.isFinal) throw new Error('a message in fragments');
      if (frame.opcode === TEXT) onText(frame.payload);
    }
  };
}

/** The first frame, where all of it is there. A server's frames have no mask. */
function readFrame(bytes: Buffer) {
  if (bytes.length < 2) return null;
  const first = bytes.readUInt8(0);
  const short = bytes.readUInt8(1);
  const head = short === LENGTH_16 ? 4 : short === LENGTH_64 ? 10 : 2;
  if (bytes.length < head) return null;
  const length =
    short === LENGTH_16
      ? bytes.readUInt16BE(2)
      : short === LENGTH_64
        ? Number(bytes.readBigUInt64BE(2))
        : short;
  const end = head + length;
  if (bytes.length < end) return null;
  return {
    isFinal: (first & FINAL) !== 0,
    opcode: first & OPCODE,
    payload: bytes.subarray(head, end),
    end,
  };
}

/** A client's message of at most 125 bytes, masked as section 5.3 wants it. */
export function formatClientText(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length >= LENGTH_16) throw new Error('too long for this');
  const mask = randomBytes(4);
  const masked = Uint8Array.from(
    { length: payload.length },
    (_, i) => payload.readUInt8(i) ^ mask.readUInt8(i % 4),
  );
  return Buffer.concat([Buffer.from([FINAL | TEXT, MASKED | payload.length]), mask, masked]);
}
