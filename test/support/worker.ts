/** The worker as it is, over the tests' deployment and with faults that tests control. */
import { resolveDeployment } from '../../durable/composition.ts';
import { defineSession } from '../../durable/session.ts';
import { createApp } from '../../worker/app.ts';
import { testDeployment } from './deployment.ts';
import { testFaults } from './faults.ts';

export { Directory } from '../../durable/directory.ts';

const deployment = resolveDeployment(testDeployment);
const app = createApp(deployment);

export const Session = defineSession(deployment, testFaults);
export default { fetch: app.fetch };
