/** Entry: the fetch handler and the Durable Objects. */
import { resolveDeployment } from '../durable/composition.ts';
import { deployment as definition } from '../durable/deployment.ts';
import { defineSession } from '../durable/session.ts';
import { createApp } from './app.ts';

export { Directory } from '../durable/directory.ts';

const deployment = resolveDeployment(definition);
const app = createApp(deployment);

export const Session = defineSession(deployment);
export default { fetch: app.fetch };
