/** What tests know of the web server on loopback, wherever they run. */
import { z } from 'zod';

export const webState = z.object({
  requests: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
    }),
  ),
  /** Responses that have begun, or been asked for, and are not finished. */
  open: z.number(),
});
export type WebState = z.infer<typeof webState>;

/** The stand-in keys, by what the services do with them. */
export const KEYS = {
  good: 'key-good-51f0',
  refused: 'key-refused-51f0',
  limited: 'key-limited-51f0',
  exhausted: 'key-exhausted-51f0',
  broken: 'key-broken-51f0',
  garbage: 'key-garbage-51f0',
  shapeless: 'key-shapeless-51f0',
  moved: 'key-moved-51f0',
  empty: 'key-empty-51f0',
  silent: 'key-silent-51f0',
  echoing: 'key-echoing-51f0',
};

/** What the server has seen, over HTTP, so that a test in another process can ask it. */
export async function readWebState(url: string): Promise<WebState> {
  return webState.parse(await (await fetch(`${url}/state`)).json());
}
