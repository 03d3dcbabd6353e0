/** The worker as it would be uploaded, and its size. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';

/** Of the whole upload. */
export const MAX_GZIP_BYTES = 1024 * 1024;
/** Of what a start evaluates: what is imported on use does not count. */
export const MAX_START_GZIP_BYTES = 500 * 1024;

const OUTPUT = 'index.js';

const metafile = z.object({
  inputs: z.record(
    z.string(),
    z.object({ imports: z.array(z.object({ path: z.string(), kind: z.string() })) }),
  ),
  outputs: z.record(
    z.string(),
    z.object({
      entryPoint: z.string().optional(),
      inputs: z.record(z.string(), z.object({ bytesInOutput: z.number() })),
    }),
  ),
});
export type Metafile = z.infer<typeof metafile>;

export interface BundleSize {
  gzipBytes: number;
  /** An estimate: the share of the modules that load at the start, at the whole's rate of compression. */
  startGzipBytes: number;
}

/** `outdir` is what `wrangler deploy --dry-run --metafile --outdir` wrote. */
export async function measureBundle(outdir: string): Promise<BundleSize> {
  const code = await readFile(join(outdir, OUTPUT));
  const meta = metafile.parse(JSON.parse(await readFile(join(outdir, 'bundle-meta.json'), 'utf8')));
  const gzipBytes = gzipSync(code).byteLength;
  return { gzipBytes, startGzipBytes: Math.round(gzipBytes * measureStartShare(meta)) };
}

/** From 0 to 1: the part of the output's bytes that static imports reach from the entry point. */
export function measureStartShare({ inputs, outputs }: Metafile): number {
  const output = Object.values(outputs).find(({ entryPoint }) => entryPoint !== undefined);
  if (output?.entryPoint === undefined) throw new Error('The bundle has no entry point.');
  const reached = new Set([output.entryPoint]);
  // A set may grow while it is iterated: what is added is visited too.
  for (const path of reached) {
    for (const { path: target, kind } of inputs[path]?.imports ?? []) {
      if (kind !== 'dynamic-import') reached.add(target);
    }
  }
  let start = 0;
  let all = 0;
  for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
    all += bytesInOutput;
    if (reached.has(path)) start += bytesInOutput;
  }
  return all === 0 ? 0 : start / all;
}
