/** The edge: what every request passes, and the routes. */
import { Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { Deployment } from '../durable/composition.ts';
import { methodNotAllowed as methodProblem, notFound, toErrorData } from '../durable/errors.ts';
import {
  type AppEnv,
  answerCors,
  answerProblem,
  authorize,
  configure,
  identifyRequest,
  logRequest,
} from './http/index.ts';
import { listRoutes } from './routes/index.ts';

export function createApp(deployment: Deployment): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(identifyRequest, logRequest, configure, answerCors);
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, allow) =>
        answerProblem(methodProblem(`${c.req.method} does nothing here.`, { allow }).data),
    }),
  );
  for (const { method, path, scope, handle } of listRoutes(deployment)) {
    if (scope !== null) app.on(method, path, authorize(scope));
    app.on(method, path, handle);
  }
  app.notFound(() => answerProblem(notFound('No route has this path.').data));
  app.onError((error) => answerProblem(toErrorData(error)));
  return app;
}
