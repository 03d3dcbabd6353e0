/** The models of a replay: any route, answered by the recording. */
import { PerchError } from '../../durable/errors.ts';
import {
  createReplayModel,
  type ModelResolver,
  type Recording,
  type ResolvedModel,
} from '../../durable/models/index.ts';
import type { LogEvent, TurnState } from '../../durable/transcript/index.ts';
import type { RecordedSession } from './recorded-session.ts';

/** What stopped a step before its model could be asked: the route was none, or had no credentials. */
const UNRESOLVED: ReadonlySet<string> = new Set(['unknown_model', 'model_not_configured']);

export interface ReplayModelsOptions {
  turn: () => TurnState | null;
  /** All that came of a request was served which the recording has as stopped. */
  onStopped: (turn: number) => void;
}

/** Routes are resolved as the recording had it: the prompt names the same models, whoever has credentials here. */
export function createReplayModels(
  session: RecordedSession,
  { turn, onStopped }: ReplayModelsOptions,
): ModelResolver {
  const resolved = new Map<string, ResolvedModel>();
  const unresolved = findUnresolved(session.events);
  const served = serveInOrder(session.models);
  return (provider, model) => {
    const at = turn();
    const failure = at && !at.stepOpen ? unresolved.get(`${at.turn}.${at.step}`) : undefined;
    if (failure) throw failure;
    const route = `${provider}/${model}`;
    const known = resolved.get(route) ?? {
      provider,
      model,
      adapter: createReplayModel(route, served, (place) => onStopped(place.turn)),
      traits: { metaKey: provider, marksPlace: true },
      accepts: () => true,
      redact: (text: string) => text,
    };
    resolved.set(route, known);
    return known;
  };
}

/**
 * Requests of a step as they come: the loop counts those that a restart cut off, too, and the recording does not have
 * them.
 */
function serveInOrder(recording: Recording): Recording {
  const counts = new Map<string, number>();
  return {
    ...recording,
    find({ turn, step }) {
      const attempt = (counts.get(`${turn}.${step}`) ?? 0) + 1;
      counts.set(`${turn}.${step}`, attempt);
      return recording.find({ turn, step, attempt });
    },
  };
}

/** By turn and the last step before it: the failure of a step that was not entered. */
function findUnresolved(events: readonly LogEvent[]): Map<string, PerchError> {
  const found = new Map<string, PerchError>();
  for (const event of events) {
    if (event.type !== 'turn/end' || event.reason.kind !== 'error') continue;
    const { code, message } = event.reason.error;
    if (!UNRESOLVED.has(code)) continue;
    const facts = { recorded: true };
    const data = { code, status: 422, title: 'A recorded failure', detail: message, facts };
    found.set(`${event.turn}.${event.steps}`, new PerchError(data));
  }
  return found;
}
