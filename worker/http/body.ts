/** Bodies: bounded while they are read, checked before they are parsed. */
import type { z } from 'zod';
import {
  bodyTooLarge,
  invalidRequest,
  jsonTooDeep,
  malformedJson,
  unsupportedMediaType,
} from '../../durable/errors.ts';
import type { IdempotencyClaim } from '../../durable/rpc.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { exceedsJsonDepth } from './json-depth.ts';

export const SMALL_BODY_BYTES = 64 * 1024;
/** A message carries its images and files as base64. */
export const MESSAGE_BODY_BYTES = 12 * 1024 * 1024;
const MAX_JSON_DEPTH = 32;
/** Printable ASCII: what a header carries unharmed. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export interface BodyOptions {
  limitBytes: number;
  /** An absent body is read as `{}`. */
  optional?: boolean;
  /** Looks at the parsed JSON before the schema does, to refuse with an error of its own. */
  inspect?: (json: unknown) => void;
}

/**
 * A request's JSON body, by its schema, and its Idempotency-Key where it has one. Throws `unsupported_media_type`,
 * `body_too_large`, `malformed_json`, `json_too_deep` and `invalid_request`.
 */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  options: BodyOptions,
): Promise<{ value: z.output<Schema>; idempotency: IdempotencyClaim | null }> {
  const bytes = await readBounded(request, options.limitBytes);
  const json = bytes.length === 0 && options.optional ? {} : parseJson(request, bytes);
  options.inspect?.(json);
  return { value: parseWith(schema, json), idempotency: readIdempotencyKey(request, bytes) };
}

/** A request's body as bytes, and its Idempotency-Key where it has one. Throws `body_too_large` and `invalid_request`. */
export async function readBytes(
  request: Request,
  limitBytes: number,
): Promise<{ bytes: Uint8Array; idempotency: IdempotencyClaim | null }> {
  const bytes = await readBounded(request, limitBytes);
  return { bytes, idempotency: readIdempotencyKey(request, bytes) };
}

/** By the schema. Throws `invalid_request` with every issue: its path (dots between parts) and message. */
export function parseWith<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const first = errors[0];
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw invalidRequest(`${where}${first?.message ?? 'not valid'}`, { errors });
}

/** A multipart form, bounded as JSON is. Throws `body_too_large` and `invalid_request`. */
export async function readForm(request: Request, limitBytes: number): Promise<FormData> {
  const bytes = await readBounded(request, limitBytes);
  const type = request.headers.get('content-type') ?? '';
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch {
    // The parser's message may quote the body.
    throw invalidRequest('The body does not parse as multipart/form-data.');
  }
}

/** The content type in lower case, without its parameters. */
export function readMediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function parseJson(request: Request, bytes: Uint8Array): unknown {
  if (readMediaType(request) !== 'application/json')
    throw unsupportedMediaType('Send `Content-Type: application/json`.');
  const text = decodeUtf8(bytes);
  if (exceedsJsonDepth(text, MAX_JSON_DEPTH)) {
    throw jsonTooDeep(`The body nests deeper than ${MAX_JSON_DEPTH} levels.`, { limit: MAX_JSON_DEPTH });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, so it is not passed on.
    throw malformedJson('The body does not parse as JSON.');
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    // Bytes that are no UTF-8 are no JSON (RFC 8259 section 8.1).
    throw malformedJson('The body is not UTF-8.');
  }
}

/** Trusts no Content-Length: a large one is refused at once, and what arrives is counted all the same. */
async function readBounded(request: Request, limit: number): Promise<Uint8Array> {
  const refuse = () => bodyTooLarge(`The body may have at most ${limit} bytes.`, { limit_bytes: limit });
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw refuse();
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > limit) throw refuse();
    chunks.push(chunk);
  }
  return joinChunks(chunks, size);
}

function joinChunks(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

function readIdempotencyKey(request: Request, body: Uint8Array): IdempotencyClaim | null {
  const key = request.headers.get('idempotency-key');
  if (key === null) return null;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw invalidRequest('An Idempotency-Key is 1 to 255 printable ASCII characters without spaces.');
  }
  return { key, digest: sha256Hex(body) };
}
