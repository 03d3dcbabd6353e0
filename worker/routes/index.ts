import type { Deployment } from '../../durable/composition.ts';
import type { Route } from '../http/index.ts';
import { approvalRoutes } from './approvals.ts';
import { commandRoutes } from './commands.ts';
import { eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { forkRoutes } from './fork.ts';
import { healthRoutes } from './health.ts';
import { inboxRoutes } from './inbox.ts';
import { messageRoutes } from './messages.ts';
import { describeRoutes } from './openapi.ts';
import { promptRoutes } from './prompt.ts';
import { sessionRoutes } from './sessions.ts';
import { skillRoutes } from './skills.ts';
import { tenantSkillRoutes } from './tenant-skills.ts';

/** Every route of the service, and the one that describes them. */
export function listRoutes(deployment: Deployment): Route[] {
  const routes = [
    ...sessionRoutes(deployment),
    ...commandRoutes(),
    ...forkRoutes(deployment),
    ...messageRoutes(),
    ...inboxRoutes(),
    ...approvalRoutes(),
    ...fileRoutes(),
    ...eventRoutes(),
    ...promptRoutes(deployment),
    ...skillRoutes(),
    ...tenantSkillRoutes(),
    ...healthRoutes(),
  ];
  return [...routes, describeRoutes(routes)];
}
