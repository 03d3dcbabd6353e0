/** Which faults are put into a scenario, and their names. Pure. */
import { type Injection, MODES, type Mode, type Place } from './driver.ts';

/** Cases of a scenario in a run of the whole suite, evenly over the trace. */
const CASES = 72;
/** The recovery's points after which an object is ended once more, by turns. */
const SECONDS = [1, 3, 2, 6, 4, 9, 5, 12, 7];

/**
 * A kill of each kind at the first hit of every point; then, evenly over what is left up to `limit`, a throw or a delay
 * there, and all of these at the further hits. Every second kill is a pair: the object is ended again while it
 * recovers. `turn` makes scenarios differ in what they try where.
 */
export function chooseCases(trace: readonly Place[], limit = CASES, turn = 0): Injection[] {
  const toCases = (hits: readonly Place[], modes: readonly Mode[]) =>
    hits.flatMap(({ point, hit }) => modes.map((mode) => ({ point, hit, mode })));
  const disturb = (i: number): Mode => ((i + turn) % 2 === 0 ? 'throw' : 'delay');
  const first = trace.filter(({ hit }) => hit === 1);
  const further = trace.filter(({ hit }) => hit > 1);
  const certain = toCases(first, ['abort', 'hang']);
  // Mode by mode: an even choice then has them all.
  const others = [
    ...first.flatMap((place, i) => toCases([place], [disturb(i)])),
    ...toCases(further, ['abort']),
    ...toCases(further, ['hang']),
    ...further.flatMap((place, i) => toCases([place], [disturb(i)])),
  ];
  const chosen = [
    ...spread(certain, limit, turn),
    ...spread(others, Math.max(0, limit - certain.length), turn),
  ];
  let kills = turn;
  return chosen.map(({ point, hit, mode }) => {
    const isKill = mode === 'abort' || mode === 'hang';
    const n = isKill ? kills++ : 0;
    // Of two kills in a row one is a pair, and of four each kind is once.
    if (!isKill || (n >> 1) % 2 !== n % 2) return { point, hit, mode, second: null };
    const after = SECONDS[(n >> 1) % SECONDS.length] ?? 1;
    return { point, hit, mode, second: { after, mode: n % 4 < 2 ? 'abort' : 'hang' } };
  });
}

/** At most so many of them, evenly; `turn` shifts where it begins. */
function spread<T>(list: readonly T[], count: number, turn: number): T[] {
  if (count === 0) return [];
  if (list.length <= count) return [...list];
  const step = list.length / count;
  return Array.from({ length: count }, (_, i) => list[Math.floor(i * step + (turn % step))]).filter(
    (entry) => entry !== undefined,
  );
}

/** `<scenario>:<point>:<hit>:<mode>`, and `:<after>:<mode>` of the second kill. */
export function formatCase(scenario: string, { point, hit, mode, second }: Injection): string {
  return [scenario, point, hit, mode, ...(second ? [second.after, second.mode] : [])].join(':');
}

/** `<scenario>` alone is all of its cases. Throws for what is no case. */
export function parseCase(text: string): { scenario: string; injection: Injection | null } {
  const [scenario = '', point, hit, mode, after, again] = text.split(':');
  if (point === undefined) return { scenario, injection: null };
  if (!isMode(mode) || !(Number(hit) > 0)) throw new Error(`${text} is no <scenario>:<point>:<hit>:<mode>`);
  const second =
    after === undefined
      ? null
      : { after: Number(after), mode: again === 'hang' ? ('hang' as const) : ('abort' as const) };
  return { scenario, injection: { point, hit: Number(hit), mode, second } };
}

function isMode(text: string | undefined): text is Mode {
  return MODES.some((mode) => mode === text);
}
