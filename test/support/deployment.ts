/** The deployment that tests run against: models of the stand-in server, and agents that are wrong in one way each. */
import { z } from 'zod';
import { anthropic, offline, openaiCompatible, type Recording, replay } from '../../durable/models/index.ts';
import { type AgentDefinition, defineDeployment, type Plugin } from '../../durable/plugins.ts';
import type { ToolSource } from '../../durable/prompt/index.ts';
import { skillsPlugin } from '../../durable/skills/index.ts';
import { fileTools } from '../../durable/tools/files/index.ts';
import { defineTool, peopleTools, requireApproval, timeTools, todoTools } from '../../durable/tools/index.ts';

const echo = defineTool({
  name: 'echo',
  description: 'Returns its text.',
  input: z.strictObject({ text: z.string() }),
  parallelSafe: true,
  idempotent: true,
  run: ({ text }) => text,
});

/** What `replay/<name>` serves: a test puts its recordings here. */
export const recordings = new Map<string, Recording>();

/** What the tool `effect` did, in order: outlives the objects that did it. */
export const effects: string[] = [];

const effect = defineTool({
  name: 'effect',
  description: 'Has an effect that must not happen twice.',
  input: z.strictObject({ text: z.string() }),
  run({ text }) {
    effects.push(text);
    return `done: ${text}`;
  },
});

const broken = defineTool({
  name: 'broken',
  description: 'Throws.',
  input: z.strictObject({}),
  run() {
    throw new Error('the tool broke');
  },
});

const slow = defineTool({
  name: 'slow',
  description: 'Never answers.',
  input: z.strictObject({}),
  timeoutMs: 100,
  run: () => new Promise<string>(() => undefined),
});

/** Facts and refusals that the tests look for. */
const facts: Plugin = {
  name: 'facts',
  tools: [echo, effect, broken, slow],
  variables: [
    { name: 'team', provide: () => 'the blue team' },
    { name: 'nothing', provide: () => undefined },
  ],
  sections: [{ name: 'facts:braces', order: 150, text: 'Literal {{braces}} stay.', verbatim: true }],
  lanes: [
    {
      lane: 'plugin',
      name: 'guard',
      run({ claimed }) {
        const text =
          claimed.flatMap(({ content }) => content).find((block) => block.type === 'text')?.text ?? '';
        return text.includes('forbidden words')
          ? { kind: 'reject', message: 'These words are not taken.' }
          : { kind: 'enter', inject: [] };
      },
    },
  ],
  onAssemble(assembly, { session }) {
    if (session.agent === 'late') assembly.variables.late_fact = 'declared late';
  },
  onRequest(call, { session, failure }) {
    if (session.agent === 'rerouted') call.model = 'rerouted-by-listener';
    if (session.agent === 'falls-back' && failure) call.model = `${call.model}-fallback`;
  },
};

/** What most agents of the tests may use, so that their prompts stay as they are when tools are added. */
const BASIC_TOOLS = [
  'echo',
  'effect',
  'broken',
  'slow',
  'current_time',
  'days_between',
  'skill',
  'skill_resource',
];

/** Whose tools a step gets beside those of the deployment: a test puts its source here. */
export const late: { source: ToolSource | null } = { source: null };

const lateTools: Plugin = {
  name: 'late-tools',
  toolSources: [{ prefix: 'mcp__', list: (context) => late.source?.list(context) ?? [] }],
};

/** Calls that a person has to allow, one that nobody may make, and a check that fails. */
const guarded: Plugin = {
  name: 'guarded',
  guards: [
    requireApproval([{ tool: 'effect', arguments: { text: /danger/ }, reason: 'It is dangerous.' }]),
    {
      name: 'never',
      check({ input }) {
        const text = JSON.stringify(input);
        if (text.includes('break the guard')) throw new Error('the guard broke');
        return text.includes('never this') ? { kind: 'deny', reason: 'Never this.' } : { kind: 'allow' };
      },
    },
  ],
};

function agent(name: string, persona: string, more: Partial<AgentDefinition> = {}): AgentDefinition {
  return { name, persona, model: 'stand-in/plain', tools: BASIC_TOOLS, ...more };
}

export const testDeployment = defineDeployment({
  agents: [
    agent('plain', 'You are the plain agent of {{team}}.', { model: 'offline/instant' }),
    agent('demo', 'You are the demo agent.', { model: 'offline/demo' }),
    agent('stand-in', 'You are the stand-in agent.'),
    agent('claude', 'You are the other stand-in agent.', { model: 'stand-in-anthropic/claude' }),
    agent('narrow', 'You have one tool.', { tools: ['echo'] }),
    agent('short', 'You take two steps.', { budgets: { turn: { steps: 2 } } }),
    agent('few-calls', 'You make two calls.', {
      budgets: { turn: { toolCalls: 2 }, session: { toolCalls: 3 } },
    }),
    agent('few-tokens', 'You say little.', {
      options: { maxOutputTokens: 100 },
      budgets: { turn: { tokens: 2_000 }, session: { tokens: 4_000 } },
    }),
    agent('thrifty', 'You cost little.', {
      model: 'stand-in/priced',
      options: { maxOutputTokens: 100 },
      budgets: { session: { usd: 0.01 } },
    }),
    agent('hasty', 'You have no time.', { budgets: { turn: { wallMs: 400 } } }),
    agent('falls-back', 'You are {{model}}.'),
    agent('careful', 'You ask before you act.', { tools: 'all', budgets: { turn: { wallMs: 60_000 } } }),
    agent('connected', 'You have a tool of a server.', { tools: ['echo', 'mcp__lo__add*'] }),
    agent('late', 'A fact: {{late_fact}}.'),
    agent('rerouted', 'You read {{model}} of {{provider}}.'),
    agent('unknown-variable', 'You are {{nobody}}.'),
    agent('no-value', 'You are {{nothing}}.'),
    agent('malformed', 'You are {{ team }}.'),
    agent('unbalanced', 'You are {{{team}}}.'),
  ],
  plugins: [timeTools, facts, skillsPlugin, fileTools, todoTools(), peopleTools, guarded, lateTools],
  providers: [
    openaiCompatible({ name: 'stand-in', baseUrlVar: 'MODEL_SERVER', media: ['image/png'] }),
    anthropic({ name: 'stand-in-anthropic', baseUrlVar: 'MODEL_SERVER', key: 'STAND_IN_KEY' }),
    anthropic({ name: 'keyless', key: 'A_KEY_THAT_NOBODY_SET' }),
    offline(),
    replay({ read: (name) => recordings.get(name) ?? null }),
  ],
  modelStallMs: 400,
  stepMs: 8_000,
  retry: { attempts: 3, baseMs: 20, capMs: 100, longestWaitMs: 1_000 },
  prices: { 'stand-in/priced': { input: 1, output: 10 } },
});
