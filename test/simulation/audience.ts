/** Those who watch sessions: they connect, come back when their connection is gone, and leave. */
import { SOCKET_GRANT_HEADER } from '../../durable/rpc.ts';
import { takeSocket } from './globals.ts';
import type { Known } from './known.ts';
import { createViewer, type Viewer } from './viewer.ts';
import type { World } from './world.ts';

export interface Audience {
  /** One more viewer, from the log's start, from its end, or from the newest message on. */
  join: (known: Known, from: 'start' | 'end' | 'message') => void;
  /** All of a session's viewers lose their connection, and come back so many milliseconds later. */
  drop: (known: Known, awayMs: number) => void;
  /** Those who are away come back. */
  gather: (known: Known) => void;
}

/** A client looks after its connection so often. */
const LOOK_MS = 1_700;
const GRANT = { [SOCKET_GRANT_HEADER]: JSON.stringify({ by: 'client', cancel: true, trusted: false }) };

export function createAudience(world: World): Audience {
  const { clock } = world;

  const connect = (known: Known, viewer: Viewer): void => {
    const start = viewer.start();
    const url = `https://session/socket?${start}`;
    known.host.request(
      (object) => object.fetch(new Request(url, { headers: { upgrade: 'websocket', ...GRANT } })),
      (reply) => {
        const socket = reply.kind === 'answer' ? takeSocket(reply.value) : null;
        if (!socket || socket.isClosed) return;
        if (!viewer.isAttached() && viewer.start() === start) {
          viewer.attach(socket);
          return;
        }
        // Another connection of this viewer was faster.
        socket.close(1000, 'too late');
        if (!viewer.isAttached()) connect(known, viewer);
      },
    );
  };
  const keepConnected = (known: Known, viewer: Viewer): void => {
    if (!viewer.isAttached()) connect(known, viewer);
    if (!world.isCalm()) clock.after(LOOK_MS, null, () => keepConnected(known, viewer));
  };
  return {
    join(known, from) {
      const [end] = known.host.disk.read('SELECT max(seq) AS seq FROM events');
      const newest = known.posted.at(-1)?.message;
      const after = from === 'start' ? 0 : Number(end?.['seq'] ?? 0);
      const start = from === 'message' && newest !== undefined ? `message=${newest}` : `after=${after}`;
      const number = known.viewers.length + 1;
      const viewer = createViewer(start, (problem) =>
        world.complain('wrong', `${known.id}, viewer ${number}: ${problem}`),
      );
      known.viewers.push(viewer);
      keepConnected(known, viewer);
    },
    drop(known, awayMs) {
      for (const viewer of known.viewers) {
        viewer.detach();
        clock.after(awayMs, null, () => {
          if (!viewer.isAttached()) connect(known, viewer);
        });
      }
    },
    gather(known) {
      for (const viewer of known.viewers) if (!viewer.isAttached()) connect(known, viewer);
    },
  };
}
