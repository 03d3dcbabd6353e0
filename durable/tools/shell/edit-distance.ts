/**
 * Whether two lists of lines are at most so many lines apart, removed and added ones counted (Myers, "An O(ND)
 * difference algorithm"). Takes at most (lines + limit) × limit steps: a comparison without a bound takes minutes over
 * two files of 20,000 lines that have little in common.
 */
export function isWithinEdits(left: readonly string[], right: readonly string[], limit: number): boolean {
  if (Math.abs(left.length - right.length) > limit) return false;
  const [a, b] = toNumbers(left, right);
  // Of each diagonal: how far into `a` the best path with so many edits has come.
  const reached = new Int32Array(2 * limit + 3);
  const middle = limit + 1;
  for (let edits = 0; edits <= limit; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const below = reached[middle + k - 1] ?? 0;
      const above = reached[middle + k + 1] ?? 0;
      let x = k === -edits || (k !== edits && below < above) ? above : below + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reached[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return true;
    }
  }
  return false;
}

/** Equal lines get equal numbers: comparing them is one step. */
function toNumbers(left: readonly string[], right: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const convert = (lines: readonly string[]): Int32Array =>
    Int32Array.from(lines, (line) => {
      const known = numbers.get(line) ?? numbers.size;
      numbers.set(line, known);
      return known;
    });
  return [convert(left), convert(right)];
}
