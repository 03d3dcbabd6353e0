/** A list of what is to be done, kept in the log where people can follow it. */
import { z } from 'zod';
import type { Plugin } from '../../plugins.ts';
import { todoItem } from '../../transcript/events.ts';
import { defineTool, type ToolDefinition } from '../types.ts';

const MOST_ITEMS = 100;

const MARKS = { pending: '[ ]', in_progress: '[>]', done: '[x]' } as const;

function createTodo(severalInProgress: boolean): ToolDefinition {
  const list = z.array(todoItem).max(MOST_ITEMS);
  const items = severalInProgress
    ? list
    : list.refine(
        (all) => all.filter(({ status }) => status === 'in_progress').length <= 1,
        'has more than one item in progress',
      );
  const rule = severalInProgress ? '' : ' At most one item is in progress.';
  return defineTool({
    name: 'todo',
    description:
      'Keeps the list of steps of the task at hand, where the person can follow it. Each call replaces the whole list, ' +
      'so send all items every time. Use it for work of three steps or more: write the list before you begin, mark an ' +
      `item in_progress when you start it and done as soon as it is done.${rule} Not for a single question.`,
    input: z.strictObject({ items }),
    idempotent: true,
    run({ items: written }) {
      const lines = written.map(({ text, status }) => `${MARKS[status]} ${text}`);
      const text = lines.length === 0 ? 'The list is empty.' : lines.join('\n');
      return { content: [{ type: 'text', text }], events: [{ type: 'todo/write', items: written }] };
    },
  });
}

/** `severalInProgress` lets more than one item be in progress at a time. */
export function todoTools({ severalInProgress = false }: { severalInProgress?: boolean } = {}): Plugin {
  return { name: 'todo', tools: [createTodo(severalInProgress)] };
}
