/** The deployed worker's own bundle, gzipped: what a start evaluates, and what is imported on use beside it. */
import { measureBundle } from '../../check/bundle-size.ts';
import { wrangler } from '../bundle.ts';
import { type Figure, toFigure } from '../stats.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

const KB_BYTES = 1_024;

export function measureSize(): Promise<Figure[]> {
  return withTemporaryFolder(async (outdir) => {
    await wrangler(['deploy', '--dry-run', '--metafile', '--outdir', outdir]);
    const { gzipBytes, startGzipBytes } = await measureBundle(outdir);
    return [
      toFigure('worker_gzip_kb', 'KB', [startGzipBytes / KB_BYTES]),
      toFigure('worker_gzip_all_kb', 'KB', [gzipBytes / KB_BYTES]),
    ];
  });
}
