/**
 * A client that does not lose heart: every request carries an Idempotency-Key and is sent again until it is answered.
 * It can be sent away, so that an object has to get by with nobody connected. The ledger is what it was told.
 */
import { z } from 'zod';
import type { Delivery } from '../../durable/transcript/events.ts';
import { createPerch, type Perch } from '../support/perch.ts';

export interface SentMessage {
  id: string;
  text: string;
  delivery: Delivery;
  /** Of the admission. */
  seq: number;
}

/** What was acknowledged, in the order in which it was. */
export interface Ledger {
  sent: SentMessage[];
  /** Prompts that the model had seen when a cancel was acknowledged. */
  cancels: { cleared: boolean; promptsSeen: number }[];
  /** Ids of messages whose discard was acknowledged. */
  discarded: string[];
  resets: number;
  /** From the first request on: it may be carried out before it is answered. */
  eraseAsked: boolean;
  isErased: boolean;
  /** Answers that were neither a success nor a reason to try again. */
  refusals: { what: string; status: number; code: string }[];
}

export interface Client {
  perch: Perch;
  session: string;
  ledger: Ledger;
  send: (text: string, delivery?: Delivery) => Promise<string>;
  /** The same message under the same key once more; the receipt must be the first one's. */
  sendAgain: (message: string) => Promise<void>;
  cancel: (options?: { clear?: boolean; promptsSeen?: () => number }) => Promise<void>;
  discard: (message: string) => Promise<void>;
  reset: () => Promise<void>;
  erase: () => Promise<void>;
  /** The child has this id, and asks the model of this name. */
  fork: (child: string, model: string) => Promise<void>;
  /** Waits while it is away, then asks; the answer's status and JSON. */
  ask: (what: string, method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Resolves while it is there. */
  presence: () => Promise<void>;
  /** Requests on their way. */
  inFlight: () => number;
}

export interface Answer {
  status: number;
  body: unknown;
}

const MOST_TRIES = 400;
const PAUSE_MS = 2;
const receipt = z.object({ message: z.string(), seq: z.number() });
const problem = z.looseObject({ code: z.string() });

/** One tenant for all sessions of a test file: making a key for each would be most of the work. */
let tenant: Promise<Perch> | null = null;

/** `connection` is the world's: all clients of a world go away together. */
export async function createClient(session: string, connection: { isAway: boolean }): Promise<Client> {
  tenant ??= createPerch();
  const perch = await tenant;
  const keys = new Map<string, { key: string; text: string; delivery: Delivery; seq: number }>();
  const ledger: Ledger = {
    sent: [],
    cancels: [],
    discarded: [],
    resets: 0,
    eraseAsked: false,
    isErased: false,
    refusals: [],
  };
  let inFlight = 0;

  const presence = async (): Promise<void> => {
    while (connection.isAway) await scheduler.wait(PAUSE_MS);
  };
  const request = async (method: string, path: string, body: unknown, key: string): Promise<Answer> => {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await presence();
      inFlight++;
      try {
        const response = await perch.request(method, path, body, { 'idempotency-key': key });
        const text = await response.text();
        if (response.status < 500) {
          return { status: response.status, body: text === '' ? null : JSON.parse(text) };
        }
      } catch {
        // The connection was lost: as good as no answer.
      } finally {
        inFlight--;
      }
      await scheduler.wait(PAUSE_MS);
    }
    throw new Error(`${method} ${path} was never answered`);
  };
  /** The body of a success; null and an entry in the ledger for a refusal. */
  const ask: Client['ask'] = async (what, method, path, body) => {
    const answer = await request(method, path, body, crypto.randomUUID());
    if (answer.status >= 400) {
      ledger.refusals.push({ what, status: answer.status, code: problem.parse(answer.body).code });
    }
    return answer;
  };
  const at = `/v1/sessions/${session}`;
  return {
    perch,
    session,
    ledger,
    ask,
    async send(text, delivery = 'followup') {
      const key = crypto.randomUUID();
      const { status, body } = await request('POST', `${at}/messages`, { text, delivery }, key);
      if (status !== 202) {
        ledger.refusals.push({ what: 'send', status, code: problem.parse(body).code });
        return '';
      }
      const { message, seq } = receipt.parse(body);
      keys.set(message, { key, text, delivery, seq });
      ledger.sent.push({ id: message, text, delivery, seq });
      return message;
    },
    async sendAgain(message) {
      const known = keys.get(message);
      if (!known) return;
      const { key, text, delivery, seq } = known;
      const { body } = await request('POST', `${at}/messages`, { text, delivery }, key);
      const again = receipt.parse(body);
      if (again.message !== message || again.seq !== seq) {
        throw new Error(`the same key gave ${JSON.stringify(again)} after ${JSON.stringify(known)}`);
      }
    },
    async cancel({ clear = false, promptsSeen = () => 0 } = {}) {
      const { status } = await ask('cancel', 'POST', `${at}/cancel`, { clear_inbox: clear });
      if (status === 200) ledger.cancels.push({ cleared: clear, promptsSeen: promptsSeen() });
    },
    async discard(message) {
      const { status } = await ask('discard', 'DELETE', `${at}/messages/${message}`);
      if (status === 200) ledger.discarded.push(message);
    },
    async reset() {
      const { status } = await ask('reset', 'POST', `${at}/reset`, {});
      if (status === 200) ledger.resets++;
    },
    async erase() {
      // A second try of what was done already finds nothing, and that is what was asked for.
      await presence();
      ledger.eraseAsked = true;
      const { status } = await request('DELETE', at, undefined, crypto.randomUUID());
      ledger.isErased = status === 204 || status === 404;
    },
    async fork(child, model) {
      await ask('fork', 'POST', `${at}/fork`, { id: child, model });
    },
    presence,
    inFlight: () => inFlight,
  };
}
