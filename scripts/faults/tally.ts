/** What the kill tests count, and how it is told. Pure. */

export interface ScenarioTally {
  scenario: string;
  /** Names of the points that the scenario passes. */
  points: string[];
  /** Cases by mode; those whose place was not reached again are left out. */
  modes: Record<string, number>;
  /** Objects that were ended, the second of a pair included. */
  kills: number;
  lost: number;
  doubled: number;
  stuck: number;
  /** Promises that are not kept in another way. */
  broken: number;
  /** From the alarm to quiet, with nobody connected. */
  recoveryMs: number[];
}

/** A line a scenario, the recovery, the points of the code (`named`) that none passes, and the sum as the last line. */
export function formatTallies(tallies: readonly ScenarioTally[], named: readonly string[]): string {
  const points = new Set(tallies.flatMap((tally) => tally.points));
  const missed = named.filter((point) => !points.has(point));
  const sum = (what: 'kills' | 'lost' | 'doubled' | 'stuck'): number =>
    tallies.reduce((total, tally) => total + tally[what], 0);
  const recovery = tallies.flatMap(({ recoveryMs }) => recoveryMs);
  return [
    ...tallies.map(formatTally),
    `points of the code that none of these passes: ${missed.length === 0 ? 'none' : missed.join(', ')}`,
    `recovery from the alarm to idle: ${formatTimes(recovery)}`,
    `scenarios ${tallies.length}, points ${points.size}, kills ${sum('kills')}, lost ${sum('lost')}, ` +
      `doubled ${sum('doubled')}, stuck ${sum('stuck')}`,
  ].join('\n');
}

function formatTally(tally: ScenarioTally): string {
  const { scenario, points, modes, kills, lost, doubled, stuck, broken } = tally;
  const tried = Object.entries(modes)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([mode, cases]) => `${mode} ${cases}`)
    .join(', ');
  return (
    `${scenario}: points ${points.length} × (${tried}), kills ${kills}, lost ${lost}, doubled ${doubled}, ` +
    `stuck ${stuck}${broken === 0 ? '' : `, broken ${broken}`}`
  );
}

/** Median and 99th percentile (nearest rank). */
export function formatTimes(ms: readonly number[]): string {
  if (ms.length === 0) return 'none';
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${ms.length}`;
}
