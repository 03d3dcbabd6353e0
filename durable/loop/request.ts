/** One request of a step: asks the model, shows the text as it comes, and commits the answer. */
import { askModel, type ModelAnswer } from '../models/index.ts';
import type { LoopPorts } from './ports.ts';
import type { StepContext } from './step.ts';

/**
 * Returns when the answer is in the log. Throws a model's failure (nothing of it is committed) and the turn's abort
 * (what people saw is committed as an `interrupted` message). Attempt 1 was logged with the step itself.
 */
export async function requestAnswer(
  ports: LoopPorts,
  context: StepContext,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const { turn, step, model, system, schemas, options } = context;
  if (attempt > 1) {
    const digest = ports.prompts.digest(ports.headers.newest(), []);
    ports.log.commit((append) => {
      append({ type: 'request/attempt', turn, step, attempt, digest });
      ports.stream.begin(turn, step, attempt);
    });
    await ports.faults.hit('request.counted');
  }
  const outcome = await askModel(model, ports.prompts.toCall(model, { system, tools: schemas, options }), {
    signal,
    stallMs: ports.limits.modelStallMs,
    wait: ports.wait,
    now: ports.now,
    onDelta: ({ kind, text }) => ports.publish(ports.stream.push(kind, text)),
  });
  await ports.faults.hit('request.answered');
  if (outcome.kind === 'answer') {
    commitAnswer(ports, context, attempt, outcome.answer, false);
    await ports.faults.hit('answer.committed');
    return;
  }
  if (outcome.partial.content.length > 0) commitAnswer(ports, context, attempt, outcome.partial, true);
  signal.throwIfAborted();
}

function commitAnswer(
  ports: LoopPorts,
  { turn, step }: StepContext,
  attempt: number,
  answer: ModelAnswer,
  interrupted: boolean,
): void {
  ports.log.commit((append) => {
    append({
      type: 'assistant/message',
      turn,
      step,
      attempt,
      ...answer,
      ...(interrupted ? { interrupted } : {}),
      surface: 'append',
    });
    ports.stream.clear();
  });
}
