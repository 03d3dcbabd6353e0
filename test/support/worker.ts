/** The worker as it is, over the tests' deployment and with faults that tests control. */
import { resolveDeployment } from '../../durable/composition.ts';
import { Directory as RealDirectory } from '../../durable/directory.ts';
import type { SessionListing, SkillUse } from '../../durable/rpc.ts';
import { defineSession } from '../../durable/session.ts';
import { createApp } from '../../worker/app.ts';
import { testDeployment } from './deployment.ts';
import { faultsOf, testFaults } from './faults.ts';

/** The real directory, which tests can make fail. */
export class Directory extends RealDirectory {
  override async add(listing: SessionListing): Promise<void> {
    await testFaults.hit('directory.add');
    await super.add(listing);
  }

  override async recordUses(session: string, uses: readonly SkillUse[]): Promise<void> {
    await testFaults.hit('directory.recordUses');
    await super.recordUses(session, uses);
  }
}

const deployment = resolveDeployment(testDeployment);
const app = createApp(deployment);

/** The real session, whose sockets tests can refuse. */
export class Session extends defineSession(deployment, faultsOf) {
  override async fetch(request: Request): Promise<Response> {
    await testFaults.hit('session.socket');
    return super.fetch(request);
  }
}
export default { fetch: app.fetch };
