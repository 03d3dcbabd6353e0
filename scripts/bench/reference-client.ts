/** A client of the reference object. */
import { type Answer, send } from './http-client.ts';

export interface ReferenceClient {
  prompt: (session: string, model: string, text: string) => Promise<Answer>;
}

export function createReferenceClient(url: string): ReferenceClient {
  return {
    prompt: (session, model, text) =>
      send('POST', `${url}/${session}`, { body: { text, model }, headers: { accept: 'text/event-stream' } }),
  };
}
