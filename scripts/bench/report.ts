/** The figures beside their goals. They are told, never asserted: a slower machine is no fault. */
import type { Figure } from './stats.ts';

const GOALS: readonly { pattern: RegExp; limit: number; below: boolean }[] = [
  { pattern: /^(ttfb|step)_ratio$/, limit: 1.3, below: false },
  { pattern: /^step_own_ms@/, limit: 0.5, below: true },
  { pattern: /^rows_per_step$/, limit: 8, below: false },
  { pattern: /^open_ms@/, limit: 15, below: true },
  { pattern: /^worker_gzip_kb$/, limit: 500, below: true },
  { pattern: /^recovery_/, limit: 5_000, below: true },
  { pattern: /^resume_ms@/, limit: 20, below: true },
  { pattern: /^rows_2000@/, limit: 60, below: true },
  { pattern: /^viewers_.*_repeated@/, limit: 0, below: false },
];

/** A table of text. */
export function formatReport(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, median, p99, n }) => {
    const goal = GOALS.find(({ pattern }) => pattern.test(name));
    return [name, unit, round(median), round(p99), String(n), ...describeGoal(goal, median)];
  });
  const lines = [['figure', 'unit', 'median', 'p99', 'n', 'goal', ''], ...rows];
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function describeGoal(goal: (typeof GOALS)[number] | undefined, median: number): [string, string] {
  if (!goal) return ['', ''];
  const met = goal.below ? median < goal.limit : median <= goal.limit;
  return [`${goal.below ? '<' : '<='} ${goal.limit}`, met ? 'met' : 'MISSED'];
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
