/** The log, as pages, as a stream, as a socket and as a file. */
import { z } from 'zod';
import { originNotAllowed, unavailable, upgradeRequired } from '../../durable/errors.ts';
import { type Frame, type SessionRpc, SOCKET_GRANT_HEADER, type SocketGrant } from '../../durable/rpc.ts';
import { formatPlace, parsePlace } from '../../durable/stream-cursor.ts';
import { eventBody } from '../../durable/transcript/events.ts';
import {
  type AppContext,
  createSessionNotFound,
  parseWith,
  prefersEventStream,
  type Route,
  reachObject,
  readOutcome,
} from '../http/index.ts';
import { answerSse, formatFrame, openFeed } from '../stream/index.ts';
import { sessionInPath } from './objects.ts';

const EVENT_TYPES = eventBody.options.map((option) => option.shape.type.value);

const after = z
  .string()
  .refine((text) => parsePlace(text) !== null, 'is no seq and no cursor')
  .transform((text) => parsePlace(text) ?? { seq: 0, part: null })
  .prefault('0')
  .describe('Where to begin: after a seq, or at a cursor that a stream told');
const types = z
  .string()
  .transform((list) => list.split(',').map((type) => type.trim()))
  .pipe(z.array(z.enum(EVENT_TYPES)))
  .optional()
  .describe('Event types, with commas between; a stream then has no deltas');
const pageQuery = z.object({ after, limit: z.coerce.number().int().min(1).max(1_000).default(100), types });
const socketQuery = z.object({ after });

const eventPage = z.object({
  data: z.array(
    eventBody.and(z.object({ seq: z.int(), at: z.int().describe('Milliseconds since the epoch') })),
  ),
  next: z.int().nullable().describe('The `after` of the next page; null where there is none yet'),
});

const exportQuery = z.object({
  include: z
    .literal('blobs')
    .optional()
    .describe('`blobs`: with the texts and files that the log names, so that every request can be rebuilt'),
});

export function eventRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/sessions/:id/events',
      scope: 'sessions:read',
      operation: 'readEvents',
      summary: 'Read the log, or follow it',
      description:
        'A page as JSON; with `Accept: text/event-stream` everything after `after`, then live: the id is the seq, ' +
        'the event its type, `delta` is text that is not logged yet, and `restart` voids what came of the step.',
      query: pageQuery,
      headers: [
        {
          name: 'Last-Event-ID',
          description: 'With a stream: the id of the last event; goes before `after`',
        },
      ],
      responses: [
        {
          status: 200,
          description: 'A page, or a stream',
          content: {
            'application/json': { name: 'EventPage', schema: eventPage },
            'text/event-stream': null,
          },
        },
      ],
      handle: readEvents,
    },
    {
      method: 'GET',
      path: '/v1/sessions/:id/socket',
      scope: 'sessions:read',
      operation: 'openSocket',
      summary: 'Follow the log over a WebSocket',
      description:
        'Every message is one frame as JSON. Answer `probe` with `{"type":"ack","n":n}`; `{"type":"cancel"}` cancels, ' +
        'with a key that has `sessions:write`; `{"type":"ping"}` is answered with `pong`.',
      query: socketQuery,
      responses: [{ status: 101, description: 'The socket' }],
      handle: openSocket,
    },
    {
      method: 'GET',
      path: '/v1/sessions/:id/export',
      scope: 'sessions:read',
      operation: 'exportLog',
      query: exportQuery,
      summary: 'The whole log as JSON Lines',
      responses: [
        { status: 200, description: 'One event a line', content: { 'application/x-ndjson': null } },
      ],
      handle: exportLog,
    },
  ];
}

async function readEvents(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  const query = parseWith(pageQuery, c.req.query());
  if (c.req.method === 'GET' && prefersEventStream(c)) return followLog(c, session, query.types);
  const page = await readOutcome(
    session.events({ after: query.after.seq, limit: query.limit, types: query.types ?? null }),
  );
  return c.body(page, 200, { 'content-type': 'application/json' });
}

async function followLog(c: AppContext, session: SessionRpc, types: string[] | undefined): Promise<Response> {
  const from = { after: c.req.header('last-event-id') ?? c.req.query('after') };
  const feed = await openFeed(session, parseWith(socketQuery, from));
  const wanted = (frame: Frame): boolean =>
    types === undefined ||
    frame.frame === 'dropped' ||
    (frame.frame === 'event' && types.includes(frame.type));
  return answerSse(feed, '', (frames) => ({
    text: frames.filter(wanted).map(formatFrame).join(''),
    last: false,
  }));
}

/** A browser says where a socket's page is from and lets the server judge (RFC 6455 section 10.2). */
async function openSocket(c: AppContext): Promise<Response> {
  const { session } = sessionInPath(c);
  const query = parseWith(socketQuery, c.req.query());
  if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
    throw upgradeRequired('Send `Upgrade: websocket`.');
  }
  const origin = c.req.header('origin');
  if (origin !== undefined && !c.var.config.corsOrigins.includes(origin)) {
    throw originNotAllowed('Pages of this origin may not open sockets here.');
  }
  const url = `https://session/socket?after=${formatPlace(query.after)}`;
  const headers = { upgrade: 'websocket', [SOCKET_GRANT_HEADER]: JSON.stringify(grantOf(c.var.caller)) };
  const response = await reachObject(session.fetch(new Request(url, { headers })));
  if (response.status === 101) return response;
  throw response.status === 404
    ? createSessionNotFound()
    : unavailable('The session does not open a socket.');
}

function grantOf({ keyId, scopes }: AppContext['var']['caller']): SocketGrant {
  return { by: `key:${keyId}`, cancel: scopes.includes('sessions:write'), trusted: false };
}

async function exportLog(c: AppContext): Promise<Response> {
  const { include } = parseWith(exportQuery, c.req.query());
  const log = await readOutcome(sessionInPath(c).session.export(include === 'blobs'));
  return c.body(log, 200, { 'content-type': 'application/x-ndjson' });
}
