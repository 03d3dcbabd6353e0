/** A seeded generator (mulberry32): the same seed gives the same run. */
export interface Random {
  next: () => number;
  below: (limit: number) => number;
  pick: <T>(from: readonly T[]) => T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick(from) {
      const picked = from[below(from.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}

/** Another seed each run, so that every run looks somewhere new; `SEED=…` repeats one. */
export function chooseSeed(): number {
  const given = process.env['SEED'];
  return given === undefined ? Date.now() % 2 ** 32 : Number(given);
}
