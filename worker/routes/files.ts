/** A session's files over HTTP. The path after `/files` is the file's absolute path; its version is the entity tag. */
import { z } from 'zod';
import { pathInvalid } from '../../durable/errors.ts';
import { sha256Hex } from '../../durable/storage/digest.ts';
import { MAX_ARCHIVE_BYTES } from '../../durable/workspace/archive.ts';
import { MAX_FILE_BYTES } from '../../durable/workspace/index.ts';
import {
  type FilesRpc,
  fileListing,
  fileView,
  importReport,
  type VersionCondition,
} from '../../durable/workspace/requests.ts';
import {
  type AppContext,
  IDEMPOTENCY_KEY_HEADER,
  parseWith,
  type Route,
  readBytes,
  readOutcome,
} from '../http/index.ts';
import { sessionInPath } from './objects.ts';

const BYTES = 'application/octet-stream';
const PATH = '/v1/sessions/:id/files/:path{[^]+}';

const listQuery = z.object({
  prefix: z.string().startsWith('/').default('/').describe('Only paths that begin with this'),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  after: z.string().min(1).optional().describe('The `next` of the page before'),
});
const deleteQuery = z.object({
  recursive: z.enum(['true', 'false']).default('false').describe('A directory with what is in it'),
});
const importQuery = z.object({
  directory: z.string().min(1).default('.').describe('Absolute, or relative to the working directory'),
});

const IF_MATCH = { name: 'If-Match', description: 'Only where the file has this entity tag, or `*`: any.' };
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  description: 'Only where the file has another entity tag; `*`: only where there is none.',
};
const answersFile = { 'application/json': { name: 'File', schema: fileView } };

export function fileRoutes(): Route[] {
  return [...folderRoutes(), ...pathRoutes()];
}

function folderRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/sessions/:id/files',
      scope: 'sessions:read',
      operation: 'listFiles',
      summary: "List a session's files and directories",
      query: listQuery,
      responses: [
        {
          status: 200,
          description: 'A page',
          content: { 'application/json': { name: 'FilePage', schema: fileListing } },
        },
      ],
      handle: listFiles,
    },
    {
      method: 'POST',
      path: '/v1/sessions/:id/files',
      scope: 'sessions:write',
      operation: 'importFiles',
      summary: 'Bring in a zip, tar or tar.gz: all of its files, or none',
      description:
        'Files that are there already are replaced. Links, devices, paths that lead out, names that come twice and ' +
        'encrypted entries are refused, with the name of the entry.',
      query: importQuery,
      headers: [IDEMPOTENCY_KEY_HEADER],
      takesBytes: ['application/zip', 'application/x-tar', 'application/gzip', BYTES],
      responses: [
        {
          status: 200,
          description: 'What was brought in',
          content: { 'application/json': { name: 'ImportReport', schema: importReport } },
        },
      ],
      handle: importArchive,
    },
  ];
}

function pathRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: PATH,
      scope: 'sessions:read',
      operation: 'getFile',
      summary: "Read a file's bytes",
      headers: [IF_MATCH, IF_NONE_MATCH],
      responses: [
        { status: 200, description: 'The bytes', content: { [BYTES]: null } },
        { status: 304, description: 'The caller has them' },
      ],
      handle: getFile,
    },
    {
      method: 'PUT',
      path: PATH,
      scope: 'sessions:write',
      operation: 'putFile',
      summary: 'Write a file: the body is its bytes',
      headers: [IF_MATCH, IF_NONE_MATCH],
      takesBytes: [BYTES],
      responses: [
        { status: 200, description: 'It took the place of one of this path', content: answersFile },
        { status: 201, description: 'It is new', content: answersFile },
      ],
      handle: putFile,
    },
    {
      method: 'DELETE',
      path: PATH,
      scope: 'sessions:write',
      operation: 'deleteFile',
      summary: 'Delete a file or a directory',
      query: deleteQuery,
      headers: [IF_MATCH],
      responses: [{ status: 204, description: 'It is gone' }],
      handle: deleteFile,
    },
  ];
}

async function listFiles(c: AppContext): Promise<Response> {
  const { prefix, limit, after } = parseWith(listQuery, c.req.query());
  return c.json(await readOutcome(filesInPath(c).listFiles({ prefix, limit, after: after ?? null })));
}

async function getFile(c: AppContext): Promise<Response> {
  const files = filesInPath(c);
  const { file, bytes } = await readOutcome(
    files.getFile({ path: readPath(c), condition: readCondition(c) }),
  );
  const headers = {
    etag: toTag(file.version),
    // Kept by the client alone, and asked for again each time.
    'cache-control': 'private, no-cache',
    'last-modified': new Date(file.modified_at).toUTCString(),
  };
  if (bytes === null) return c.body(null, 304, headers);
  // A stranger's bytes on the service's own origin: never a page.
  return c.body(new Uint8Array(bytes), 200, {
    ...headers,
    'content-type': BYTES,
    'content-disposition': 'attachment',
  });
}

async function putFile(c: AppContext): Promise<Response> {
  const files = filesInPath(c);
  const [path, condition] = [readPath(c), readCondition(c)];
  const { bytes } = await readBytes(c.req.raw, MAX_FILE_BYTES);
  const { file, isNew } = await readOutcome(files.putFile({ path, bytes, condition }));
  return c.json(file, isNew ? 201 : 200, { etag: toTag(file.version) });
}

async function deleteFile(c: AppContext): Promise<Response> {
  const recursive = parseWith(deleteQuery, c.req.query()).recursive === 'true';
  await readOutcome(filesInPath(c).deleteFile({ path: readPath(c), recursive, condition: readCondition(c) }));
  return c.body(null, 204);
}

async function importArchive(c: AppContext): Promise<Response> {
  const files = filesInPath(c);
  const { directory } = parseWith(importQuery, c.req.query());
  const { bytes, idempotency: claim } = await readBytes(c.req.raw, MAX_ARCHIVE_BYTES);
  // The directory is part of what is asked for.
  const idempotency = claim && { key: claim.key, digest: sha256Hex(`${directory}\n${claim.digest}`) };
  return c.json(await readOutcome(files.importFiles({ directory, bytes, idempotency })));
}

function filesInPath(c: AppContext): FilesRpc {
  return sessionInPath(c).session;
}

/** From the URL as it came, so that nothing is decoded twice. Throws `path_invalid`. */
function readPath(c: AppContext): string {
  const { pathname } = new URL(c.req.url);
  const at = pathname.indexOf('/files/') + '/files'.length;
  try {
    return decodeURIComponent(pathname.slice(at));
  } catch {
    // A URIError: its bytes are no UTF-8, or a percent sign stands alone.
    throw pathInvalid('The path in the URL does not decode as UTF-8.');
  }
}

function toTag(version: number): string {
  return `"${version}"`;
}

function readCondition(c: AppContext): VersionCondition {
  return {
    match: readTags(c.req.header('if-match'), /^"(\d{1,15})"$/),
    // RFC 9110 section 13.1.2: the weak comparison.
    noneMatch: readTags(c.req.header('if-none-match'), /^(?:W\/)?"(\d{1,15})"$/),
  };
}

/** Tags of another form are nobody's: they match no file. */
function readTags(header: string | undefined, form: RegExp): number[] | 'any' | null {
  if (header === undefined) return null;
  if (header.trim() === '*') return 'any';
  return header.split(',').flatMap((tag) => {
    const version = form.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}
