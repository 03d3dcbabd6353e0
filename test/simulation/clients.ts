/** Clients of the simulated sessions: they carry out operations, repeat what got no answer, and remember what they were told. */

import type { Outcome } from '../../durable/errors.ts';
import type { AdmitMessage, IdempotencyClaim, SessionView } from '../../durable/rpc.ts';
import type { MessageSource } from '../../durable/transcript/events.ts';
import { createAudience } from './audience.ts';
import { FORBIDDEN } from './deployment.ts';
import { disturb } from './disturb.ts';
import type { Reply } from './host.ts';
import type { Known } from './known.ts';
import type { SimulatedSession } from './load-session.ts';
import { marker } from './models.ts';
import type { Action, Operation, Post } from './operations.ts';
import type { SessionHost, World } from './world.ts';

export interface Clients {
  sessions: Known[];
  /** Makes the first session; its object dies at the given points on the way. */
  open: (faults: readonly number[], done: () => void) => void;
  run: (operation: Operation) => void;
  /** Every viewer comes back, and nobody leaves any more. */
  gather: () => void;
  /** A prompt that every session answers at the end. */
  ask: () => void;
  /** Erases the session, so many milliseconds from now; `insists`: until there is an answer. */
  erase: (known: Known, ms: number, insists: boolean) => void;
}

export const TENANT = 'tenant-a';
const SOURCE: MessageSource = { kind: 'user' };
const RETRY_MS = 150;
const MOST_TRIES = 8;
/** Codes that say nothing about whether to try again. */
const MAY_PASS = new Set(['internal_error', 'unavailable']);

export function createClients(world: World, agent: string): Clients {
  const { clock, complain } = world;
  const audience = createAudience(world);
  const sessions: Known[] = [];
  let last = 100_000;

  const claim = (key: string, body: string): IdempotencyClaim => ({ key, digest: `digest of ${body}` });
  const findForks = (parent: { session: string; atSeq: number }): number[] =>
    (sessions.find(({ id }) => id === parent.session)?.forkedAt ?? []).filter((seq) => seq < parent.atSeq);
  const know = (id: string, host: SessionHost, parent: Known['parent']): Known => {
    const { cancelled } = world.requestsOf(host);
    const known: Known = {
      id,
      host,
      parent,
      forkedAt: parent ? [parent.atSeq, ...findForks(parent)] : [],
      tried: new Map(),
      receipts: new Map(),
      posted: [],
      discarded: new Map(),
      cancelled,
      viewers: [],
      isErasing: false,
      isErased: false,
    };
    sessions.push(known);
    return known;
  };

  /** Sends until there is an answer that means something. `take` gets it, or null where none ever came. */
  const insist = <T>(
    known: { host: SessionHost },
    work: (object: SimulatedSession, attempt: number) => Promise<Outcome<T>>,
    take: (outcome: Outcome<T> | null) => void,
    mayRepeat = true,
    attempt = 1,
  ): void => {
    known.host.request(
      (object) => work(object, attempt),
      (reply: Reply<Outcome<T>>) => {
        const outcome = reply.kind === 'answer' ? reply.value : null;
        const isFinal = outcome !== null && (outcome.ok || !MAY_PASS.has(outcome.error.code));
        if (isFinal || !mayRepeat || attempt >= MOST_TRIES) return take(outcome);
        clock.after(RETRY_MS * attempt, null, () => insist(known, work, take, mayRepeat, attempt + 1));
      },
    );
  };
  const expectCodes = (what: string, outcome: Outcome<unknown> | null, codes: readonly string[]): void => {
    if (outcome === null || outcome.ok || MAY_PASS.has(outcome.error.code)) return;
    const { code, detail } = outcome.error;
    if (!codes.includes(code)) complain('wrong', `${what} is answered ${code}: ${detail}`);
  };

  const post = (known: Known, id: number, action: Post): void => {
    const words = { plain: 'hello', gesture: 'use /alpha and /gamma', forbidden: FORBIDDEN };
    const text = `${marker(id)} ${words[action.text]}`;
    const send = (copy: number): void =>
      insist(
        known,
        (object, attempt) => {
          const message = `msg_${known.id}_${id}_${copy}_${attempt}`;
          known.tried.set(message, { operation: id, keyed: action.keyed });
          if (copy === 1 && attempt === 1) known.posted.push({ operation: id, message });
          const input: AdmitMessage = {
            id: message,
            delivery: action.delivery,
            source: SOURCE,
            content: [{ type: 'text', text }],
            idempotency: action.keyed ? claim(`post ${id}`, text) : null,
          };
          return object.admit(input);
        },
        (outcome) => {
          expectCodes('a prompt', outcome, known.isErasing ? ['session_not_found'] : []);
          if (!outcome?.ok) return;
          const receipts = known.receipts.get(id) ?? [];
          receipts.push(outcome.value);
          known.receipts.set(id, receipts);
          const message = known.posted.find(({ operation }) => operation === id);
          if (message) message.message = outcome.value.message;
        },
        action.keyed,
      );
    for (let copy = 1; copy <= action.copies; copy++) {
      clock.after(action.apartMs * (copy - 1), null, () => send(copy));
    }
  };

  const readOpenTurn = ({ host }: Known): { open: number | null; turns: number } => {
    const [state] = host.disk.read('SELECT turns, open_turn_seq AS open FROM state');
    const turns = Number(state?.['turns'] ?? 0);
    return { turns, open: Number(state?.['open'] ?? 0) > 0 ? turns : null };
  };
  const cancel = (known: Known, id: number, action: Extract<Action, { kind: 'cancel' }>): void => {
    const { turns, open } = readOpenTurn(known);
    const places = { open: open ?? turns, before: turns - 1, coming: turns + 1 };
    const turn = action.turn === null ? null : Math.max(0, places[action.turn]);
    insist<SessionView>(
      known,
      async (object, attempt) => {
        const life = known.host.life();
        const { open: meant } = readOpenTurn(known);
        const outcome = await object.cancel({
          by: 'client',
          clearInbox: action.clearInbox,
          turn,
          idempotency: action.keyed ? claim(`cancel ${id}`, 'cancel') : null,
        });
        const isMeant = meant !== null && (turn === null || turn === meant);
        // A repeated request may get the answer of the first, which meant another turn.
        if (outcome.ok && isMeant && attempt === 1 && life) {
          known.host.sendOut(life, () => known.cancelled.add(meant));
        }
        return outcome;
      },
      (outcome) => expectCodes('a cancel', outcome, []),
      action.keyed,
    );
  };

  const discard = (known: Known, which: number | null): void => {
    const message = which === null ? null : (known.posted.at(-1 - which)?.message ?? null);
    if (which !== null && message === null) return;
    insist(
      known,
      (object) => object.discard({ by: 'client', message }),
      (outcome) => {
        expectCodes('a discard', outcome, ['message_not_found', 'message_claimed']);
        if (message === null || outcome === null) return;
        if (outcome.ok) known.discarded.set(message, 'discarded');
        else if (outcome.error.code === 'message_claimed') known.discarded.set(message, 'claimed');
      },
    );
  };

  const fork = (known: Known, id: number, share: number | null): void => {
    const [end] = known.host.disk.read('SELECT max(seq) AS seq FROM events');
    const wanted = share === null ? null : Math.max(1, Math.ceil(share * Number(end?.['seq'] ?? 1)));
    const childId = `fork-${id}`;
    const host = world.addHost(`object of ${childId}`);
    const make = (atSeq: number | null): void =>
      insist<SessionView>(
        { host },
        (object) =>
          object.fork({
            tenant: TENANT,
            directory: 'directory',
            id: childId,
            parentObject: known.host.name,
            parent: known.id,
            atSeq,
            metadata: null,
            model: null,
            idempotency: claim(`fork ${id}`, 'fork'),
          }),
        (outcome) => {
          if (outcome?.ok) {
            const at = outcome.value.parent?.at_seq ?? 0;
            know(childId, host, { session: known.id, atSeq: at });
          } else if (outcome?.error.code === 'not_a_boundary' && atSeq !== null) {
            const { before } = outcome.error.facts;
            make(typeof before === 'number' ? before : null);
          } else expectCodes('a fork', outcome, []);
        },
      );
    make(wanted);
  };

  const reset = (known: Known, id: number, keyed: boolean): void =>
    insist<SessionView>(
      known,
      (object) => object.reset({ by: 'client', idempotency: keyed ? claim(`reset ${id}`, 'reset') : null }),
      (outcome) => expectCodes('a reset', outcome, ['session_busy']),
      keyed,
    );
  const repair = (known: Known): void => {
    // Between an alarm and its handler none is stored.
    let mayMissAlarm = false;
    insist(
      known,
      (object) => {
        mayMissAlarm = known.host.isAlarmHandled();
        return object.repair({ by: 'client', idempotency: null });
      },
      (outcome) => {
        expectCodes('a repair', outcome, []);
        const mended = outcome?.ok ? outcome.value.repaired : [];
        const faults = mended.filter((what) => !(mayMissAlarm && what.startsWith('No alarm')));
        if (faults.length > 0) complain('wrong', `a repair of a healthy session mends: ${faults.join(' ')}`);
      },
    );
  };

  const act = (known: Known, id: number, action: Action): void => {
    switch (action.kind) {
      case 'post':
        post(known, id, action);
        return;
      case 'cancel':
        cancel(known, id, action);
        return;
      case 'discard':
        discard(known, action.which);
        return;
      case 'reset':
        reset(known, id, action.keyed);
        return;
      case 'repair':
        repair(known);
        return;
      case 'fork':
        fork(known, id, action.share);
        return;
      case 'view':
        audience.join(known, action.from);
        return;
      case 'socket':
        for (const viewer of known.viewers) viewer.say(action.says);
        return;
      case 'drop-viewers':
        audience.drop(known, action.awayMs);
        return;
      default:
        disturb(world, known.host, id, action);
    }
  };
  return {
    sessions,
    open(faults, done) {
      const host = world.addHost('object of first');
      for (const hits of faults) host.faults.atPoint(hits, { kind: 'crash' });
      insist<SessionView>(
        { host },
        (object) =>
          object.create({
            tenant: TENANT,
            directory: 'directory',
            id: 'first',
            agent,
            model: null,
            cwd: null,
            metadata: {},
            persona: null,
            tools: null,
            idempotency: claim('create', 'create'),
          }),
        (outcome) => {
          if (outcome?.ok) know('first', host, null);
          else complain('wrong', `no session: ${JSON.stringify(outcome)}`);
          done();
        },
      );
    },
    run(operation) {
      const known = sessions[operation.session % sessions.length];
      if (known) act(known, operation.id, operation.action);
    },
    gather() {
      for (const known of sessions) audience.gather(known);
    },
    erase(known, ms, insists) {
      clock.after(ms, null, () => {
        known.isErasing = true;
        insist<null>(
          known,
          (object) => object.erase(),
          (outcome) => {
            expectCodes('an erasing', outcome, ['session_not_found']);
            known.isErased = outcome?.ok === true || outcome?.error.code === 'session_not_found';
          },
          insists,
        );
      });
    },
    ask() {
      for (const known of sessions) {
        const plain = {
          kind: 'post',
          delivery: 'followup',
          text: 'plain',
          keyed: true,
          copies: 1,
          apartMs: 0,
        } as const;
        post(known, ++last, plain);
      }
    },
  };
}
