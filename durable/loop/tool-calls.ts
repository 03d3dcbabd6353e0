/**
 * Carries out a step's calls. A start is logged before it happens and a result after it, in the model's order;
 * neighbours that declare themselves parallel-safe run together.
 */
import { runTool, type ToolResult } from '../tools/index.ts';
import type { CallState } from '../transcript/index.ts';
import { commitAt, pass } from './points.ts';
import type { LoopPorts } from './ports.ts';
import type { StepContext } from './prompt.ts';

/** More at once would only queue: the platform opens six connections at a time for an object. */
const MAX_PARALLEL = 10;

export async function settleCalls(
  ports: LoopPorts,
  context: StepContext,
  calls: readonly CallState[],
  signal: AbortSignal,
): Promise<void> {
  for (const batch of toBatches(calls, (call) => context.tools.get(call.block.name)?.parallelSafe === true)) {
    signal.throwIfAborted();
    await runBatch(ports, context, batch, signal);
  }
}

/** Runs of parallel-safe neighbours, at most MAX_PARALLEL long; every other call alone. Order is kept. */
export function toBatches<T>(calls: readonly T[], isParallelSafe: (call: T) => boolean): T[][] {
  const batches: T[][] = [];
  let open: T[] | null = null;
  for (const call of calls) {
    const safe = isParallelSafe(call);
    if (safe && open && open.length < MAX_PARALLEL) {
      open.push(call);
      continue;
    }
    const batch = [call];
    batches.push(batch);
    open = safe ? batch : null;
  }
  return batches;
}

async function runBatch(
  ports: LoopPorts,
  context: StepContext,
  batch: readonly CallState[],
  signal: AbortSignal,
): Promise<void> {
  const { turn, step, tools, skills } = context;
  await pass(ports, 'tool.starting');
  signal.throwIfAborted();
  ports.log.commit((append) => {
    for (const { block, started } of batch) {
      if (!started)
        append({ type: 'tool/call', turn, step, call: block.id, name: block.name, input: block.input });
    }
  });
  await pass(ports, 'tool.started');
  const { session, invokedSkills, now, wait } = ports;
  const running = batch.map(({ block }) =>
    runTool(block, tools, { session, call: block.id, turn, step, signal, skills, invokedSkills, now }, wait),
  );
  for (const [i, result] of running.entries()) {
    const call = batch[i];
    const settled = await result;
    await pass(ports, 'tool.answered');
    if (call) await commitResult(ports, context, call, settled);
  }
}

function commitResult(
  ports: LoopPorts,
  { turn, step }: StepContext,
  call: CallState,
  result: ToolResult,
): Promise<unknown> {
  const { id, name } = call.block;
  return commitAt(ports, ['tool.settling', 'tool.settled'], (append) =>
    append({ type: 'tool/result', turn, step, call: id, name, ...result, surface: 'append' }),
  );
}
