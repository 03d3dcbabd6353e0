/** What an object does first about a turn that an earlier life left open. */
import { repairCalls } from '../transcript/index.ts';
import type { LoopPorts } from './ports.ts';

/**
 * Gives every call that nobody is running a result, so that the model knows: started with an unknown outcome, or
 * never started. A started call whose tool is idempotent stays open and runs again under its id.
 */
export function recoverCalls(ports: LoopPorts): void {
  const state = ports.turn();
  if (!state?.stepOpen) return;
  const { tools } = ports.plan();
  const isIdempotent = (name: string): boolean =>
    tools.some(({ definition }) => definition.name === name && definition.idempotent === true);
  const repairs = repairCalls(state, 'restarted', (call) => isIdempotent(call.block.name));
  if (repairs.length === 0) return;
  ports.log.commit((append) => {
    for (const event of repairs) append(event);
  });
}
