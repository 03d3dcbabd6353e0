/** What a tool is: its contract with the model, and its contract with the loop. */
import type { z } from 'zod';
import type { SessionFacts } from '../prompt/types.ts';
import type { SkillView } from '../skills/types.ts';
import type { ContentBlock } from '../transcript/events.ts';

/** What a running tool may know. A plugin extends it by declaration merging. */
export interface ToolContext {
  session: SessionFacts;
  /** The call's id in the log: the same again when an idempotent call is run again. */
  call: string;
  turn: number;
  step: number;
  /** Fires on cancel and on the tool's own timeout. */
  signal: AbortSignal;
  /** The skills of this step's one manifest. */
  skills: SkillView;
  /** Names of the skills that a person has invoked in this session, whether or not the model still sees them. */
  invokedSkills: () => ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/**
 * A tool's answer: text for the model, or blocks; `error` is a stable code that marks it as failed. `facts` are what
 * the tool says of its answer for the record: they are logged with it and never sent to a model.
 */
export type ToolOutput = string | { content: ContentBlock[]; error?: string; facts?: ToolFacts };
export type ToolFacts = Record<string, string | number | boolean>;

export interface ToolDefinition<Input = unknown> {
  /** `[a-zA-Z0-9_-]{1,64}`: what all providers take. */
  name: string;
  /** The whole contract of this one tool: what it does, when to use it. Habits across calls go into a section. */
  description: string;
  /** Arguments are checked against it before `run`. */
  input: z.ZodType<Input>;
  /** A failure is thrown (a `PerchError` keeps its code) or returned with `error`. */
  run(input: Input, context: ToolContext): ToolOutput | Promise<ToolOutput>;
  /** May run beside other parallel-safe calls of the same step. */
  parallelSafe?: boolean;
  /** May run again under the same call id after a crash. */
  idempotent?: boolean;
  /** Milliseconds; the loop's default where absent. */
  timeoutMs?: number;
  /** Absent from steps where it says no (the skill tool where nothing is model-invocable). */
  available?: (context: { skills: SkillView }) => boolean;
}

/** Ties `run` to the schema's type, then forgets it: the pipeline checks arguments before it calls `run`. */
export function defineTool<Input>(tool: ToolDefinition<Input>): ToolDefinition {
  return tool;
}
