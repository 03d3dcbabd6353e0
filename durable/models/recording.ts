/**
 * What the models of a session answered, read from its log: each request by its place, blind to what it was asked with.
 * A request that a restart cut off is no part of it, and the attempts of its step are numbered without it. Pure.
 */
import type { AssistantBlock, EventOf, Failure, LogEvent, TurnEndReason } from '../transcript/events.ts';
import type { ModelAnswer, RequestPlace } from './types.ts';

export type RecordedRequest =
  | { kind: 'answer'; answer: ModelAnswer }
  /** `began`: a piece of an answer had come before it failed. */
  | { kind: 'failure'; error: Failure; began: boolean }
  /** The turn was stopped while it streamed: this came, and then nothing; null where nothing came. */
  | { kind: 'stopped'; answer: ModelAnswer | null };

export interface Recording {
  /** Null where the session made no such request. */
  find: (place: RequestPlace) => RecordedRequest | null;
  /** The calls of the answer in this step that have no result in the log. */
  findUnbound: (place: Pick<RequestPlace, 'turn' | 'step'>, answer: ModelAnswer) => string[];
}

/** Where recordings come from: an exported session by its name, or null where there is none. */
export interface RecordingSource {
  read: (name: string) => Recording | null | Promise<Recording | null>;
}

interface Draft {
  turn: number;
  step: number;
  request: RecordedRequest | null;
}

export function recordModels(events: readonly LogEvent[]): Recording {
  const drafts: Draft[] = [];
  const settled = new Set<string>();
  const settle = (request: RecordedRequest): void => {
    const draft = drafts.at(-1);
    if (draft) draft.request = request;
  };
  for (const event of events) {
    switch (event.type) {
      case 'request/attempt':
        drafts.push({ turn: event.turn, step: event.step, request: null });
        break;
      case 'request/failed':
        settle({ kind: 'failure', error: event.error, began: event.began });
        break;
      case 'assistant/message':
        settle({ kind: event.interrupted ? 'stopped' : 'answer', answer: toAnswer(event) });
        break;
      case 'tool/result':
        settled.add(`${event.turn}.${event.step} ${event.call}`);
        break;
      case 'turn/end': {
        const draft = drafts.at(-1);
        if (draft?.turn === event.turn && draft.request === null) draft.request = settleAtEnd(event.reason);
        break;
      }
      default:
    }
  }
  const requests = numberByStep(drafts);
  return {
    find: (place) => requests.get(keyOf(place)) ?? null,
    findUnbound: ({ turn, step }, { content }) =>
      content.filter(isCall).flatMap(({ id }) => (settled.has(`${turn}.${step} ${id}`) ? [] : [id])),
  };
}

/** What became of a request of which the log says nothing more: a log from before there was `request/failed` ends so. */
function settleAtEnd(reason: TurnEndReason): RecordedRequest | null {
  switch (reason.kind) {
    case 'aborted':
    case 'budget':
      return { kind: 'stopped', answer: null };
    case 'error':
      return { kind: 'failure', error: reason.error, began: false };
    default:
      return null;
  }
}

function numberByStep(drafts: readonly Draft[]): Map<string, RecordedRequest> {
  const requests = new Map<string, RecordedRequest>();
  const counts = new Map<string, number>();
  for (const { turn, step, request } of drafts) {
    if (request === null) continue;
    const attempt = (counts.get(`${turn}.${step}`) ?? 0) + 1;
    counts.set(`${turn}.${step}`, attempt);
    requests.set(keyOf({ turn, step, attempt }), request);
  }
  return requests;
}

function keyOf({ turn, step, attempt }: RequestPlace): string {
  return `${turn}.${step}.${attempt}`;
}

function toAnswer({ content, finish, usage, model }: EventOf<'assistant/message'>): ModelAnswer {
  return { content, finish, usage, model };
}

function isCall(block: AssistantBlock): block is Extract<AssistantBlock, { type: 'tool-call' }> {
  return block.type === 'tool-call';
}
