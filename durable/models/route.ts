/** Routes: `provider/model`. */
import { unknownModel } from '../errors.ts';
import type { ProviderDefinition } from './providers.ts';

/** The first slash divides, so that a model's own name may hold more. */
export function parseRoute(route: string): { provider: string; model: string } {
  const slash = route.indexOf('/');
  if (slash < 1 || slash === route.length - 1) {
    throw unknownModel(`${JSON.stringify(route)} is no model route; it reads provider/model.`);
  }
  return { provider: route.slice(0, slash), model: route.slice(slash + 1) };
}

/** Throws `unknown_model` for a route whose provider the deployment does not have. */
export function checkRoute(route: string, providers: readonly ProviderDefinition[]): void {
  const { provider } = parseRoute(route);
  const known = providers.map(({ name }) => name);
  if (!known.includes(provider)) {
    throw unknownModel(`There is no provider ${provider}. There are: ${known.join(', ')}.`, { known });
  }
}
