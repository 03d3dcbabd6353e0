/** What a test tells the stand-in model server to answer, and what it reads back. Plain data, for Node and workerd. */
import { z } from 'zod';

const timing = {
  /** Milliseconds between two payloads. */
  delay_ms: z.number().int().nonnegative().optional(),
  /** Holds the response until `POST /gates/<name>`: before its headers, or after so many payloads. */
  gate: z.string().optional(),
  gate_after: z.number().int().nonnegative().optional(),
  /** Ends the response after so many payloads; `reset` breaks the connection instead of ending it. */
  cut_after: z.number().int().nonnegative().optional(),
  reset: z.boolean().optional(),
  /** Stays silent for ever after so many payloads. */
  hang_after: z.number().int().nonnegative().optional(),
};

const spoken = z.strictObject({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })).optional(),
  usage: z.object({ input: z.number(), output: z.number() }).optional(),
  /** Payloads that the text comes in; by default up to five. */
  deltas: z.number().int().positive().optional(),
  ...timing,
});

const scriptedResponse = z.union([
  /** The provider's own payloads, one a string; the server adds the framing. */
  z.strictObject({ chunks: z.array(z.string()), ...timing }),
  z.strictObject({
    status: z.number().int(),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.string().optional(),
  }),
  /** Takes the request and never answers. */
  z.strictObject({ hang: z.literal(true) }),
  /** Status 200 and something that is no event stream (`html`) or no JSON in it (`events`). */
  z.strictObject({ garbage: z.union([z.literal(true), z.enum(['html', 'events'])]) }),
  spoken,
]);
export type ScriptedResponse = z.infer<typeof scriptedResponse>;
export type Spoken = z.infer<typeof spoken>;

/** `repeat`: the last response answers for ever; else a request past the end gets a 500. */
export const modelScript = z.strictObject({
  responses: z.array(scriptedResponse).min(1),
  repeat: z.boolean().optional(),
});
export type ModelScript = z.infer<typeof modelScript>;

export const recordedRequest = z.object({
  path: z.string(),
  /** Without credentials. */
  headers: z.record(z.string(), z.string()),
  /** The body's exact text. */
  body: z.string(),
});
export type RecordedRequest = z.infer<typeof recordedRequest>;
