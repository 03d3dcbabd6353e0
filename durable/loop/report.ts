import type { Identity } from '../storage/index.ts';
import type { TurnSummary } from './ports.ts';

/** One structured line a turn. It holds counts and codes, never a word of the conversation. */
export function reportTurn(session: Pick<Identity, 'tenant' | 'id' | 'agent'>, summary: TurnSummary): void {
  const { turn, reason, steps, usage, receipt } = summary;
  const { charge, ...counts } = receipt;
  console.log(
    JSON.stringify({
      level: reason.kind === 'error' ? 'warn' : 'info',
      msg: 'turn',
      tenant: session.tenant,
      session: session.id,
      agent: session.agent,
      turn,
      reason: reason.kind,
      ...(reason.kind === 'error' ? { code: reason.error.code } : {}),
      steps,
      ...usage,
      ...counts,
      micro_usd: charge.micro_usd,
    }),
  );
}
