/** Scripts the stand-in model server over HTTP: from Node and from workerd. */
import { z } from 'zod';
import { type RecordedRequest, recordedRequest, type ScriptedResponse } from './model-script.ts';

export interface ModelClient {
  /** What the model of this name answers to its next requests; its earlier requests are forgotten. */
  script: (model: string, responses: ScriptedResponse[], options?: { repeat?: boolean }) => Promise<void>;
  /** The requests that came for this model, in order. */
  requests: (model: string) => Promise<RecordedRequest[]>;
  /** Resolves when a response has come to this gate. */
  reached: (gate: string) => Promise<void>;
  /** Lets it through. */
  release: (gate: string) => Promise<void>;
}

/** `baseUrl` is `inject('modelServer')` in workerd, or the url of `startModelServer`. */
export function createModelClient(baseUrl: string): ModelClient {
  async function call(method: string, room: string, name: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${baseUrl}/${room}/${encodeURIComponent(name)}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the model server answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
  return {
    async script(model, responses, options = {}) {
      await call('POST', 'scripts', model, { responses, ...options });
    },
    requests: async (model) => z.array(recordedRequest).parse(await call('GET', 'requests', model)),
    async reached(gate) {
      await call('GET', 'gates', gate);
    },
    async release(gate) {
      await call('POST', 'gates', gate);
    },
  };
}
