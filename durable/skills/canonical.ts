/** One order and one encoding, so that equal values have equal digests wherever they are computed. */

/** The order of code units: that of `<`, and of an `Array#sort` without a comparison. No locale changes it. */
export function compareCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** JSON with the keys of every object sorted and nothing undefined: equal values give equal bytes. */
export function encodeCanonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => compareCodeUnits(a, b)));
  });
}
