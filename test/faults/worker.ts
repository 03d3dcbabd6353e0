/** The worker as it is, over the deployment of the kill tests. Its objects can be killed at their fault points. */
import { resolveDeployment } from '../../durable/composition.ts';
import { Directory as RealDirectory } from '../../durable/directory.ts';
import type { SessionListing } from '../../durable/rpc.ts';
import { defineSession } from '../../durable/session.ts';
import { createApp } from '../../worker/app.ts';
import { faultsOf } from '../support/faults.ts';
import { faultsDeployment } from './deployment.ts';
import { beginLife, type Life } from './lives.ts';
import { receiveOutside } from './outside.ts';

export class Directory extends RealDirectory {
  override async add(listing: SessionListing): Promise<void> {
    await faultsOf(this.ctx).hit('directory.add');
    await super.add(listing);
    await faultsOf(this.ctx).hit('directory.added');
  }
}

const deployment = resolveDeployment(faultsDeployment);
const app = createApp(deployment);
const RealSession = defineSession(deployment, faultsOf);

export class Session extends RealSession {
  readonly #life: Life;

  constructor(...args: ConstructorParameters<typeof RealSession>) {
    const life = beginLife(args[0]);
    super(...args);
    this.#life = life;
    life.built();
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    // A test that runs the alarm tells nothing; the platform does.
    if (info) this.#life.alarmCame();
    await super.alarm();
  }
}

export default {
  async fetch(request: Request, env: unknown, context: ExecutionContext): Promise<Response> {
    return (await receiveOutside(request)) ?? app.fetch(request, env as object, context);
  },
};
