/** What a tool is: its contract with the model, and its contract with the loop. */
import type { z } from 'zod';
import type { PerchError } from '../errors.ts';
import type { SessionFacts } from '../prompt/types.ts';
import type { SkillView } from '../skills/types.ts';
import type { ContentBlock, TodoItem } from '../transcript/events.ts';
import type { Workspace } from '../workspace/types.ts';

/** What a running tool may know. A plugin extends it by declaration merging. */
export interface ToolContext {
  session: SessionFacts;
  /** The session's files. */
  workspace: Workspace;
  /** Bindings and variables of the deployment, by name: keys of services. Nothing of it goes into an answer. */
  env: Readonly<Record<string, unknown>>;
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
export type ToolOutput =
  | string
  | { content: ContentBlock[]; error?: string; facts?: ToolFacts; events?: readonly ToolEvent[] };
/** What a tool logs beside its result, in the same commit. */
export type ToolEvent = { type: 'todo/write'; items: TodoItem[] };
export type ToolFacts = Record<string, string | number | boolean>;

export interface ToolDefinition<Input = unknown> {
  /** `[a-zA-Z0-9_-]{1,64}`: what all providers take. */
  name: string;
  /** The whole contract of this one tool: what it does, when to use it. Habits across calls go into a section. */
  description: string;
  /** Arguments are checked against it before `run`. */
  input: z.ZodType<Input>;
  /** Sent to models as it is, in place of what `input` would give: the schema of a server that others run. */
  jsonSchema?: JsonSchema;
  /** A failure is thrown (a `PerchError` keeps its code) or returned with `error`. */
  run(input: Input, context: ToolContext): ToolOutput | Promise<ToolOutput>;
  /** Why a person has to allow this call; null where nobody has to. */
  approval?(input: Input): string | null;
  /** What a person is asked: the answer is the tool's, and `run` is not called. */
  question?(input: Input): Question;
  /** May run beside other parallel-safe calls of the same step. */
  parallelSafe?: boolean;
  /** May run again under the same call id after a crash. */
  idempotent?: boolean;
  /** Its text reaches the model whole, however long: it bounds itself. */
  whole?: boolean;
  /** Milliseconds; the loop's default where absent. */
  timeoutMs?: number;
  /** Absent from steps where it says no (the skill tool where nothing is model-invocable, a service without its key). */
  available?: (context: { skills: SkillView; env: ToolContext['env'] }) => boolean;
}

export interface Question {
  text: string;
  /** Answers to choose from; any other text is one, too. */
  options?: string[];
}

/** JSON Schema of an object, draft 7 or later, as plain data. */
export type JsonSchema = Record<string, JsonValue>;
type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A call whose arguments have been checked. */
export interface CheckedCall {
  tool: ToolDefinition;
  id: string;
  name: string;
  input: unknown;
}

/** A call that gets a result without being run: it names no tool, or its arguments are not valid. */
export interface FaultyCall {
  error: PerchError;
}

/**
 * What a guard says of a call before it runs. `deny` is a result that the model reads, with the code `denied`; `ask`
 * makes a person decide. The first guard that does not allow decides.
 */
export type GuardVerdict =
  | { kind: 'allow' }
  | { kind: 'deny'; reason: string }
  | { kind: 'ask'; reason: string };

export interface ToolGuard {
  name: string;
  check: (call: CheckedCall, context: ToolContext) => GuardVerdict | Promise<GuardVerdict>;
}

/** Ties `run` to the schema's type, then forgets it: the pipeline checks arguments before it calls `run`. */
export function defineTool<Input>(tool: ToolDefinition<Input>): ToolDefinition {
  return tool;
}
