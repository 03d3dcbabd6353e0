/** What can be asked of a session without changing it: also of a damaged one, as far as its rows can be read. */
import { describePrompt } from '../prompt/index.ts';
import type { AtStep } from '../prompt/view-shape.ts';
import type { EventQuery, SessionView } from '../rpc.ts';
import { type EventBody, eventBody, exportLog } from '../transcript/index.ts';
import { describeSession } from '../wiring.ts';
import { type Host, requireLive, requireReadable } from './host.ts';

const UNREADABLE = 'This event cannot be read. Its row, but for the first character, follows.';

export function viewSession(host: Host): SessionView {
  const parts = requireReadable(host);
  if (host.presence.kind !== 'live') return { ...describeSession(parts, false), status: 'damaged' };
  return describeSession(parts, host.presence.live.driver.isRunning());
}

/** JSON text: `{"data": [event…], "next": seq | null}`. */
export function readEvents(host: Host, query: EventQuery): string {
  const { log } = requireReadable(host);
  const { events, next } = log.page(query);
  const shown = host.presence.kind === 'damaged' ? events.map((json) => showEvent(json)) : events;
  return `{"data":[${shown.join(',')}],"next":${next}}`;
}

/** JSON text: the prompt of a past step, or the next one's. */
export async function readPrompt(host: Host, at: AtStep | null, since: AtStep | null): Promise<string> {
  const { parts, ports } = requireLive(host);
  const claimed = parts.inbox.previewTurn().map(({ message }) => message);
  const skills = await ports.skills.view();
  const view = await describePrompt(
    { ...parts, call: ports.baseCall(), claimed, skills, env: ports.env },
    at,
    since,
  );
  return JSON.stringify(view);
}

/** The log as JSON Lines, from a damaged session too. */
export function exportSession(host: Host, withBlobs: boolean): ReadableStream<Uint8Array> {
  const { log, blobs } = requireReadable(host);
  const page: typeof log.page = (query) => {
    const { events, next } = log.page(query);
    return { events: events.map((json) => showEvent(json)), next };
  };
  return exportLog({ ...log, page }, withBlobs ? blobs.get : null);
}

/** An event's JSON, or where that cannot be read, what a repair puts in its place with the row's text in it. */
function showEvent(json: string): string {
  try {
    if (eventBody.safeParse(JSON.parse(json)).success) return json;
  } catch {
    // Not JSON: shown below.
  }
  const place = /^\{"seq":(\d+),"at":(\d+),/.exec(json);
  const [head = '', seq = '0', at = '0'] = place ?? [];
  const body: EventBody = {
    type: 'command/done',
    command: 'repair',
    result: [UNREADABLE, json.slice(head.length)],
  };
  return JSON.stringify({ seq: Number(seq), at: Number(at), ...body });
}
