/** A skill's folder as it arrives: a form with a part for each file, or JSON. */
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { invalidRequest, unsupportedMediaType } from '../../durable/errors.ts';
import type { FolderFile } from '../../durable/skills/folder.ts';
import { MESSAGE_BODY_BYTES, readForm, readJson, readMediaType } from '../http/index.ts';
import { base64 } from './message-body.ts';

/** The largest skill as base64 fits twice. */
const FOLDER_BODY_BYTES = MESSAGE_BODY_BYTES;

const file = z.union([
  z.strictObject({
    text: z.string().refine((text) => text.isWellFormed(), 'is no Unicode text: half of a pair stands alone'),
  }),
  z.strictObject({ base64: base64.or(z.literal('')) }),
]);

export const folderBody = z.strictObject({
  files: z.record(z.string(), file).describe('By path inside the folder; SKILL.md is one of them'),
});

/**
 * The folder's files, not yet checked: what a path or a file may be is the skill's own rule. Throws what bodies throw,
 * and `unsupported_media_type`.
 */
export async function readFolder(request: Request): Promise<FolderFile[]> {
  switch (readMediaType(request)) {
    case 'multipart/form-data':
      return readParts(await readForm(request, FOLDER_BODY_BYTES));
    case 'application/json': {
      const { value } = await readJson(request, folderBody, {
        limitBytes: FOLDER_BODY_BYTES,
        inspect: refusePrototype,
      });
      return Object.entries(value.files).map(([path, content]) => ({ path, bytes: toBytes(content) }));
    }
    default:
      throw unsupportedMediaType(
        'Send `multipart/form-data` with a part for each file, or `application/json`.',
      );
  }
}

async function readParts(form: FormData): Promise<FolderFile[]> {
  const files: FolderFile[] = [];
  for (const [name, part] of form) {
    if (typeof part === 'string') {
      throw invalidRequest('Each part is a file: its filename is its path inside the folder.', {
        errors: [{ path: name, message: 'has no filename' }],
      });
    }
    files.push({ path: part.name, bytes: new Uint8Array(await part.arrayBuffer()) });
  }
  return files;
}

function toBytes(content: z.infer<typeof file>): Uint8Array {
  return 'text' in content
    ? new TextEncoder().encode(content.text)
    : new Uint8Array(Buffer.from(content.base64, 'base64'));
}

/** A schema's record passes over a key of this name, and no file is to be lost in silence. */
function refusePrototype(json: unknown): void {
  const files = typeof json === 'object' && json !== null && 'files' in json ? json.files : null;
  if (typeof files === 'object' && files !== null && Object.hasOwn(files, '__proto__')) {
    throw invalidRequest('`__proto__` is not allowed as a path.');
  }
}
