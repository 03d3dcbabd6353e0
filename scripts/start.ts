/**
 * `npm start [-- --port N]`: the service on this machine, with its state kept in `.wrangler/state`.
 * `npm start -- --once "prompt" [--agent A] [--model M]`: one prompt on a fresh instance, its answer on stdout.
 */
import { parseStartArguments, USAGE } from './start/arguments.ts';
import { runOnce } from './start/once.ts';
import { ROOT } from './start/paths.ts';
import { serve } from './start/serve.ts';

process.chdir(ROOT);
process.exitCode = await start(process.argv.slice(2));

async function start(args: readonly string[]): Promise<number> {
  const parsed = parseStartArguments(args);
  switch (parsed.kind) {
    case 'help':
      console.log(USAGE);
      return 0;
    case 'invalid':
      console.error(`${parsed.message}\n\n${USAGE}`);
      return 2;
    case 'serve':
      return serve(parsed);
    case 'once':
      return runOnce(parsed);
  }
}
