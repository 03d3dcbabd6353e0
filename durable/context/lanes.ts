/** Runs the pre-step lanes over a claimed batch: one decision, to reject it or to enter with the whole list. */
import type { Owned } from '../prompt/index.ts';
import type { MessageId, UserMessage } from '../transcript/index.ts';
import type { Injection, LaneContext, LaneDefinition } from './types.ts';

export type PreStep =
  | { kind: 'enter'; messages: UserMessage[] }
  /** `by` is the lane's owner; `claimed` leaves the inbox all the same. */
  | { kind: 'reject'; by: string; message: string };

/** `lanes` come in order (by lane, then by name); each sees the batch as the ones before it left it. */
export async function runLanes(
  lanes: readonly Owned<LaneDefinition>[],
  context: Omit<LaneContext, 'batch'>,
  newId: () => MessageId,
): Promise<PreStep> {
  const batch: (UserMessage | Injection)[] = [...context.claimed];
  for (const { owner, definition } of lanes) {
    const outcome = await definition.run({ ...context, batch });
    if (outcome.kind === 'reject') return { kind: 'reject', by: owner, message: outcome.message };
    batch.push(...outcome.inject);
  }
  return {
    kind: 'enter',
    messages: batch.map((message) => ('id' in message ? message : { id: newId(), role: 'user', ...message })),
  };
}
