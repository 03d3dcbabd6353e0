/** The deployed worker's start, as wrangler's own profile of it says: the time in which it was not idle. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { wrangler } from '../bundle.ts';
import { type Figure, toFigure } from '../stats.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

const US_PER_MS = 1_000;

const cpuProfile = z.object({
  nodes: z.array(z.object({ id: z.number(), callFrame: z.object({ functionName: z.string() }) })),
  samples: z.array(z.number()),
  /** Microseconds before each sample. */
  timeDeltas: z.array(z.number()),
});

export function measureStartup(starts: number): Promise<Figure[]> {
  return withTemporaryFolder(async (folder) => {
    const samples: number[] = [];
    for (let i = 0; i < starts; i++) {
      const file = join(folder, `start-${i}.cpuprofile`);
      await wrangler(['check', 'startup', '--outfile', file]);
      samples.push(sumActive(cpuProfile.parse(JSON.parse(await readFile(file, 'utf8')))));
    }
    return [toFigure('startup_ms', 'ms', samples)];
  });
}

/** A sample stands for the time up to the next one. */
function sumActive({ nodes, samples, timeDeltas }: z.infer<typeof cpuProfile>): number {
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id),
  );
  const active = samples.map((id, i) => (idle.has(id) ? 0 : (timeDeltas[i + 1] ?? 0)));
  return active.reduce((sum, us) => sum + us, 0) / US_PER_MS;
}
