/** A figure of the benchmark, as `--json` writes it. */
export interface Figure {
  name: string;
  unit: string;
  median: number;
  p99: number;
  /** Samples. */
  n: number;
}

/** The value that a share `p` of the samples does not exceed (nearest rank). Throws without samples. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)];
  if (value === undefined) throw new Error('a figure needs samples');
  return value;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

export function toFigure(name: string, unit: string, samples: readonly number[]): Figure {
  return { name, unit, median: median(samples), p99: percentile(samples, 0.99), n: samples.length };
}

/** Medians over medians and tails over tails: a ratio of single pairs would mostly show the noise of the pairs. */
export function toRatio(name: string, ours: readonly number[], reference: readonly number[]): Figure {
  return {
    name,
    unit: 'ratio',
    median: median(ours) / median(reference),
    p99: percentile(ours, 0.99) / percentile(reference, 0.99),
    n: ours.length,
  };
}
