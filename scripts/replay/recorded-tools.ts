/**
 * Tools whose answers are those of the recording: nothing runs. Only the tools of the skills do, for they read the
 * skills of the replay and do nothing else: a skill that changed shows in what they say.
 */
import { recordingUnbound } from '../../durable/errors.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { ResolvedTool, ToolSource } from '../../durable/prompt/index.ts';
import type { ToolContext, ToolDefinition, ToolOutput } from '../../durable/tools/types.ts';
import type { LogEvent, LogEventOf, ToolCallBlock } from '../../durable/transcript/index.ts';

const SKILLS_PLUGIN = 'skills';

export interface RecordedTools {
  /** The deployment with the recording's answers in the place of its tools' own. */
  bind: (definition: DeploymentDefinition) => DeploymentDefinition;
  /**
   * Whether the recording has the call as stopped, and it would not get as far as its tool, which stops the turn: it was
   * stopped when it was about to start. `tools` are those that the agent has.
   */
  isStoppedAtStart: (place: CallPlace, block: ToolCallBlock, tools: readonly ToolDefinition[]) => boolean;
}

export interface RecordedToolsOptions {
  /** The arguments of a call of the running turn, as its model gave them. */
  inputOf: (call: string) => unknown;
  /** Called for a call that the recording has as stopped in the middle: it runs until its turn is stopped. */
  onStopped: (turn: number) => void;
  /** The tools of a source in the step that is prepared. */
  sourced: (prefix: string) => ResolvedTool[];
}

export function createRecordedTools(
  events: readonly LogEvent[],
  { inputOf, onStopped, sourced }: RecordedToolsOptions,
): RecordedTools {
  const answers = createAnswers(events);
  const bindTool = (tool: ToolDefinition): ToolDefinition => ({
    ...tool,
    run(_, context) {
      const { turn, step, call } = context;
      const result = answers.take({ turn, step, call }, tool.name, inputOf(call));
      if (!result) {
        throw recordingUnbound(`The recording has no result of ${tool.name} with these arguments.`, {
          tool: tool.name,
          call,
        });
      }
      return result.error === 'aborted' ? runUntilStopped(context, () => onStopped(turn)) : toOutput(result);
    },
  });
  /** Runs, unless the recording has it stopped. */
  const stopTool = (tool: ToolDefinition): ToolDefinition => ({
    ...tool,
    run(input, context) {
      const { turn, step, call } = context;
      const result = answers.take({ turn, step, call }, tool.name, inputOf(call));
      return result?.error === 'aborted'
        ? runUntilStopped(context, () => onStopped(turn))
        : tool.run(input, context);
    },
  });
  const bindSource = ({ prefix }: ToolSource): ToolSource => ({
    prefix,
    list: () => sourced(prefix).map(({ owner, tool }) => ({ owner, tool: bindTool(tool) })),
  });
  return {
    isStoppedAtStart(place, block, own) {
      if (answers.peek(place)?.error !== 'aborted') return false;
      const tool = own.find(({ name }) => name === block.name);
      return !tool || block.malformed !== undefined || !tool.input.safeParse(block.input).success;
    },
    bind: (definition) => ({
      ...definition,
      plugins: definition.plugins.map((plugin) => ({
        ...plugin,
        tools: (plugin.tools ?? []).map(plugin.name === SKILLS_PLUGIN ? stopTool : bindTool),
        toolSources: (plugin.toolSources ?? []).map(bindSource),
      })),
    }),
  };
}

type Result = LogEventOf<'tool/result'>;

/** Ids of calls are a model's own: it may use one again in another step. */
interface CallPlace {
  turn: number;
  step: number;
  call: string;
}

interface Answers {
  /** Of the call in this place; else the first one that nobody took of the same tool with the same arguments. */
  take: (place: CallPlace, name: string, input: unknown) => Result | undefined;
  /** Of the call in this place, whatever it is. */
  peek: (place: CallPlace) => Result | undefined;
}

function createAnswers(events: readonly LogEvent[]): Answers {
  const inputs = new Map<string, string>();
  const results = new Map<string, Result>();
  for (const event of events) {
    if (event.type === 'assistant/message') {
      for (const block of event.content) {
        if (block.type !== 'tool-call') continue;
        inputs.set(nameOf({ ...event, call: block.id }), keyOf(block.name, block.input));
      }
    }
    if (event.type === 'tool/result') results.set(nameOf(event), event);
  }
  return {
    peek: (place) => results.get(nameOf(place)),
    take(place, name, input) {
      const key = keyOf(name, input);
      const isOwn = inputs.get(nameOf(place)) === key && results.has(nameOf(place));
      const id = isOwn ? nameOf(place) : [...results.keys()].find((other) => inputs.get(other) === key);
      const result = id === undefined ? undefined : results.get(id);
      if (id !== undefined) results.delete(id);
      return result;
    },
  };
}

function nameOf({ turn, step, call }: CallPlace): string {
  return `${turn}.${step} ${call}`;
}

/** Equal for equal arguments, in whatever order their members came. */
function keyOf(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input, (_, value: unknown) => sortMembers(value))}`;
}

function sortMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function toOutput({ content, error, facts }: Result): ToolOutput {
  return {
    content,
    ...(error === undefined ? {} : { error }),
    ...(facts === undefined ? {} : { facts }),
  };
}

/** The pipeline answers for it when the turn's signal fires. */
function runUntilStopped({ signal }: ToolContext, onStopped: () => void): Promise<ToolOutput> {
  const { promise, reject } = Promise.withResolvers<ToolOutput>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  // Those that start beside it have started.
  setImmediate(onStopped);
  return promise;
}
