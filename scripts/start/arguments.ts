import { parseArgs } from 'node:util';

export type StartArguments =
  | { kind: 'serve'; port: number | null }
  | { kind: 'once'; prompt: string; agent: string | null; model: string | null; port: number | null }
  | { kind: 'help' }
  | { kind: 'invalid'; message: string };

export const USAGE = `npm start [-- --port N]
npm start -- --once "prompt" [--agent A] [--model provider/model] [--port N]`;

/** What is asked for; `invalid` says in one line what is wrong. */
export function parseStartArguments(args: readonly string[]): StartArguments {
  const parsed = readOptions(args);
  if (parsed.kind === 'invalid') return parsed;
  const { once, agent, model, port, help } = parsed.values;
  if (help) return { kind: 'help' };
  const wanted = port === undefined ? null : Number(port);
  if (wanted !== null && !isPort(wanted)) {
    return { kind: 'invalid', message: `--port takes a number from 1 to 65535, not ${port}.` };
  }
  if (once === undefined) {
    if (agent === undefined && model === undefined) return { kind: 'serve', port: wanted };
    return { kind: 'invalid', message: '--agent and --model go with --once; a session chooses its own.' };
  }
  if (once.trim() === '') return { kind: 'invalid', message: '--once needs a prompt.' };
  return { kind: 'once', prompt: once, agent: agent ?? null, model: model ?? null, port: wanted };
}

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        once: { type: 'string' },
        agent: { type: 'string' },
        model: { type: 'string' },
        port: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return { kind: 'options' as const, values };
  } catch (error) {
    return { kind: 'invalid' as const, message: error instanceof Error ? error.message : String(error) };
  }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}
