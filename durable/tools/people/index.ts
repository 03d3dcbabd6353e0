/** People in the loop: a question of the model's, and calls that a person has to allow. */
import { z } from 'zod';
import type { Plugin } from '../../plugins.ts';
import { defineTool, type ToolGuard } from '../types.ts';

const askUser = defineTool({
  name: 'ask_user',
  description:
    'Asks the person a question and waits for the answer, which is the result. Use it when you cannot go on without ' +
    'a decision or a fact that only the person has; otherwise choose yourself and say what you chose. Give options ' +
    'where there are a few clear ones.',
  input: z.strictObject({
    question: z.string().min(1).max(4_000),
    options: z.array(z.string().min(1).max(200)).min(2).max(10).optional(),
  }),
  question: ({ question, options }) => ({ text: question, ...(options ? { options } : {}) }),
  run() {
    throw new Error('a question is answered by a person');
  },
});

export const peopleTools: Plugin = { name: 'people', tools: [askUser] };

export interface ApprovalRule {
  /** A tool's name; `*` at its end stands for any rest: `mcp__github__*`. */
  tool: string;
  /** Patterns of arguments by name; all of them must match. An argument that is no text is matched as JSON. */
  arguments?: Record<string, RegExp>;
  /** What the person reads. */
  reason: string;
}

/** A guard that lets a person decide about the calls that a rule names. The first rule that fits gives the reason. */
export function requireApproval(rules: readonly ApprovalRule[]): ToolGuard {
  return {
    name: 'approval',
    check({ name, input }) {
      const rule = rules.find((candidate) => isMeant(candidate, name, input));
      return rule ? { kind: 'ask', reason: rule.reason } : { kind: 'allow' };
    },
  };
}

function isMeant(rule: ApprovalRule, name: string, input: unknown): boolean {
  const { tool, arguments: patterns = {} } = rule;
  const isNamed = tool.endsWith('*') ? name.startsWith(tool.slice(0, -1)) : name === tool;
  return (
    isNamed && Object.entries(patterns).every(([key, pattern]) => matches(pattern, readMember(input, key)))
  );
}

function readMember(input: unknown, key: string): unknown {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, key)
    ? Reflect.get(input, key)
    : undefined;
}

/** Without a state of its own: a pattern with the flag `g` or `y` would match every other time. */
function matches(pattern: RegExp, value: unknown): boolean {
  if (value === undefined) return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, '')).test(text);
}
