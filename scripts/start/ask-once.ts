/** One session, one prompt, over HTTP: what a client of the API does. */
import { z } from 'zod';
import { readSse } from './read-sse.ts';
import { createTurnReader } from './turn-reader.ts';

export interface Service {
  url: string;
  key: string;
  signal: AbortSignal;
}

export interface Question {
  prompt: string;
  agent: string | null;
  model: string | null;
}

const session = z.object({ id: z.string() });
const problem = z.object({ code: z.string(), detail: z.string() });

/** Hands the answer's text to `write` as it comes. Throws where a request is refused or the turn does not complete. */
export async function askOnce(
  service: Service,
  { prompt, agent, model }: Question,
  write: (text: string) => void,
): Promise<void> {
  const wanted = { ...(agent === null ? {} : { agent }), ...(model === null ? {} : { model }) };
  const { id } = session.parse(await (await post(service, '/v1/sessions', wanted)).json());
  const response = await post(service, `/v1/sessions/${id}/messages`, { text: prompt });
  const reader = createTurnReader();
  for await (const event of readSse(response)) {
    const { text, end } = reader.read(event);
    if (text !== '') write(text);
    if (end === null) continue;
    if (end.kind === 'completed') return;
    throw new Error(end.message);
  }
  throw new Error('stream_ended: The stream ended before the turn did.');
}

async function post({ url, key, signal }: Service, path: string, body: object): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json;q=0.9',
    },
    body: JSON.stringify(body),
    signal,
  });
  if (response.ok) return response;
  const said = problem.safeParse(await response.json().catch(() => null));
  throw new Error(said.success ? `${said.data.code}: ${said.data.detail}` : `HTTP ${response.status}`);
}
