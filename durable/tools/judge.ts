/** Whether a call may run: what the tool itself wants, then what the deployment's guards say. */
import { describeFailure } from './describe-failure.ts';
import type { CheckedCall, GuardVerdict, Question, ToolContext, ToolGuard } from './types.ts';

export type Judgement =
  | Exclude<GuardVerdict, { kind: 'ask' }>
  | { kind: 'ask'; about: 'approval'; question: Question }
  | { kind: 'ask'; about: 'question'; question: Question };

/**
 * The first guard that does not allow decides; one that fails denies, because a check that did not run allowed
 * nothing. A denial goes before a question: nobody is asked about what is refused anyway.
 */
export async function judgeCall(
  call: CheckedCall,
  guards: readonly ToolGuard[],
  context: ToolContext,
): Promise<Judgement> {
  let asked: string | null = call.tool.approval?.(call.input) ?? null;
  for (const guard of guards) {
    const verdict = await runGuard(guard, call, context);
    if (verdict.kind === 'deny') return verdict;
    if (verdict.kind === 'ask') asked ??= verdict.reason;
  }
  if (asked !== null) return { kind: 'ask', about: 'approval', question: { text: asked } };
  return judgeAlone(call);
}

/** What the tool itself wants: the whole judgement where the deployment has no guards. */
export function judgeAlone({ tool, input }: CheckedCall): Judgement {
  const reason = tool.approval?.(input) ?? null;
  if (reason !== null) return { kind: 'ask', about: 'approval', question: { text: reason } };
  const question = tool.question?.(input);
  return question ? { kind: 'ask', about: 'question', question } : { kind: 'allow' };
}

async function runGuard(guard: ToolGuard, call: CheckedCall, context: ToolContext): Promise<GuardVerdict> {
  try {
    return await guard.check(call, context);
  } catch (error) {
    context.signal.throwIfAborted();
    return { kind: 'deny', reason: `The guard ${guard.name} failed: ${describeFailure(error)}` };
  }
}
