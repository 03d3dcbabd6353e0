/** The session's class in plain Node: the one module of the platform that it imports is stood in for. */
import { registerHooks } from 'node:module';
import type { ForkSource } from '../../durable/fork/types.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { SessionRpc } from '../../durable/rpc.ts';
import type { FaultPlan } from './faults.ts';
import type { ContextOfLife, HostedObject } from './host.ts';

export type SimulatedSession = SessionRpc & ForkSource & HostedObject;
export type SessionClass = new (context: ContextOfLife, env: Record<string, unknown>) => SimulatedSession;

const PLATFORM = `export class DurableObject {
  constructor(ctx, env) { this.ctx = ctx; this.env = env; }
}`;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'cloudflare:workers') return next(specifier, context);
    return { url: `data:text/javascript,${encodeURIComponent(PLATFORM)}`, shortCircuit: true };
  },
});
// Only from here on can they be loaded.
const { defineSession } = await import('../../durable/session.ts');
const { resolveDeployment } = await import('../../durable/composition.ts');

/** `faultsOf` finds the plan of the object that is built with a context. */
export function loadSession(
  definition: DeploymentDefinition,
  faultsOf: (context: ContextOfLife) => FaultPlan,
): SessionClass {
  // The platform's types describe more than a session uses of them.
  return defineSession(resolveDeployment(definition), (ctx) => faultsOf(ctx as never)) as never;
}
