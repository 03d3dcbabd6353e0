/** One session with its client and its outside, for one run of a scenario; with a fork of it where there is one. */
import { createId } from '../../worker/auth/ids.ts';
import { type Client, createClient } from './client.ts';
import { readStanding, type Standing } from './evidence.ts';
import { forgetOutside, type Outside, outsideOf } from './outside.ts';
import { openViewer, type Viewer } from './viewer.ts';

export interface Party {
  client: Client;
  outside: Outside;
}

export interface World extends Party {
  /** The session itself, and its fork once one is asked for. */
  parties: readonly Party[];
  /** Whether the clients are away, so that objects have to get by with nobody connected. */
  connection: { isAway: boolean };
  /** Waits for something to come about; gives up after a while, since a kill may have taken it away. */
  until: (isTrue: () => boolean) => Promise<void>;
  /** Whatever holds goes on, now and later. */
  release: () => void;
  /** Waits until the session is idle, or gives up. */
  settle: () => Promise<void>;
  /** Two people watch from here on: one whose connection is left alone, and one who reconnects after each kill. */
  view: () => Promise<void>;
  viewers: Viewer[];
  reconnect: () => Promise<void>;
  /** Makes the session: done already, unless the scenario does it itself. */
  create: () => Promise<void>;
  /** Makes a fork of it where it stands. */
  fork: () => Promise<Client>;
  end: () => void;
}

const LOOK_MS = 2;
const PATIENCE_MS = 400;

export async function openWorld(agent: string): Promise<World> {
  const connection = { isAway: false };
  const open = async (session: string): Promise<Party> => ({
    client: await createClient(session, connection),
    outside: outsideOf(session),
  });
  const session = createId('ses_');
  const own = await open(session);
  const parties = [own];
  const { client, outside } = own;
  const viewers: Viewer[] = [];
  const waitFor = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
    for (let left = PATIENCE_MS; left > 0; left -= LOOK_MS) {
      await client.presence();
      if (await isTrue()) return;
      await scheduler.wait(LOOK_MS);
    }
  };
  return {
    ...own,
    parties,
    connection,
    until: waitFor,
    release() {
      outside.isReleased = true;
    },
    settle: () => waitFor(async () => await readStanding(client).then(isQuiet, () => false)),
    async view() {
      viewers.push(await openViewer(client.perch, session), await openViewer(client.perch, session));
    },
    viewers,
    async reconnect() {
      await viewers[1]?.reconnect();
    },
    async create() {
      await client.ask('create', 'POST', '/v1/sessions', { id: session, agent, model: `puppet/${session}` });
    },
    async fork() {
      const child = createId('ses_');
      const party = await open(child);
      parties.push(party);
      await client.fork(child, `puppet/${child}`);
      return party.client;
    },
    end() {
      for (const viewer of viewers) viewer.close();
      for (const party of parties) forgetOutside(party.client.session);
    },
  };
}

export function isQuiet({ work, alarm }: Standing): boolean {
  return work === null && alarm === null;
}
