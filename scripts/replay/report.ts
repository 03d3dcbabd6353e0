/** A comparison in words. Pure. */
import type { LogEvent } from '../../durable/transcript/index.ts';
import type { Comparison, Difference } from './differences.ts';
import { outlineSession, showAnswer, showReason, type TurnOutline } from './outline.ts';
import { compareText } from './text-change.ts';

/** More would not be read: what comes first explains the rest. */
const MOST_SHOWN = 20;
const COLUMN_CHARACTERS = 48;
/** Of an answer, side by side. */
const ANSWER_LINES = 3;

export interface Counts {
  turns: number;
  steps: number;
  requests: number;
  calls: number;
  events: number;
}

export function countSession(events: readonly LogEvent[]): Counts {
  const of = (type: LogEvent['type']): number => events.filter((event) => event.type === type).length;
  return {
    turns: of('turn/start'),
    steps: of('step/start'),
    requests: of('request/attempt'),
    calls: of('tool/result'),
    events: events.length,
  };
}

/** What differs, and last a line that says how much there was. */
export function reportReplay({ differences, notes }: Comparison, counts: Counts): string {
  const size = Object.entries(counts)
    .map(([what, n]) => countOf(n, what.replace(/s$/, '')))
    .join(', ');
  const shown = differences.slice(0, MOST_SHOWN).flatMap(showDifference);
  const left = differences.length - MOST_SHOWN;
  return [
    ...shown,
    ...(left > 0 ? [`… and ${left} more`] : []),
    ...notes.map((note) => `note: ${note}`),
    differences.length === 0
      ? `the same: ${size}`
      : `${countOf(differences.length, 'difference')} in ${size}`,
  ].join('\n');
}

function countOf(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}

export function showDifference({ turn, step, owner, what, text }: Difference): string[] {
  const where = [...(turn === null ? [] : [`turn ${turn}`]), ...(step === null ? [] : [`step ${step}`])].join(
    ' ',
  );
  const whose = owner === null ? '' : ` (${owner})`;
  const head = `${where}${where === '' ? '' : ': '}${what}${whose}`;
  if (!text) return [head];
  const { line, before, after } = text;
  const at = line > 1 ? `, line ${line}` : '';
  return [
    `${head}${at}`,
    ...(before === null ? [] : [`    - ${before}`]),
    ...(after === null ? [] : [`    + ${after}`]),
  ];
}

/** The two runs turn by turn, side by side. */
export function reportVariation(
  recorded: readonly LogEvent[],
  replayed: readonly LogEvent[],
  from: number,
): string {
  const was = outlineSession(recorded, from);
  const is = outlineSession(replayed, from);
  const lines = [toRow('', 'recorded', 'now')];
  for (let i = 0; i < Math.max(was.length, is.length); i++) {
    const [a, b] = [was[i], is[i]];
    lines.push(`turn ${a?.turn ?? b?.turn}`, ...compareAnswers(a, b));
    for (const [name, show] of ROWS) lines.push(toRow(name, a && show(a), b && show(b)));
  }
  return lines.join('\n');
}

const ROWS: readonly (readonly [string, (turn: TurnOutline) => string])[] = [
  ['calls', ({ steps }) => steps.flatMap(({ calls }) => calls.map(({ name }) => name)).join(', ') || 'none'],
  ['steps', ({ steps }) => String(steps.length)],
  ['tokens', ({ tokens }) => String(tokens)],
  ['cost', showCost],
  ['outcome', ({ reason }) => showReason(reason)],
];

/** The first lines of the turn's answers, from the first that is not the same. */
function compareAnswers(was: TurnOutline | undefined, is: TurnOutline | undefined): string[] {
  const [a, b] = [toAnswerLines(was), toAnswerLines(is)];
  const change = compareText(a.join('\n'), b.join('\n'), COLUMN_CHARACTERS);
  const start = change ? change.line - 1 : 0;
  const first = change
    ? toRow('answer', change.before ?? '', change.after ?? '')
    : toRow('answer', a[0] ?? '', b[0] ?? '');
  const more = Array.from({ length: ANSWER_LINES - 1 }, (_, i) => i + start + 1)
    .filter((i) => a[i] !== undefined || b[i] !== undefined)
    .map((i) => toRow('', a[i] ?? '', b[i] ?? ''));
  return [first, ...more];
}

function toAnswerLines(turn: TurnOutline | undefined): string[] {
  const text = turn?.steps.map(({ answer }) => showAnswer(answer)).join('\n') ?? '';
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.length > 0 ? lines : ['nothing'];
}

function showCost({ charge: { micro_usd } }: TurnOutline): string {
  return micro_usd === null ? 'no price' : `$${(micro_usd / 1_000_000).toFixed(6)}`;
}

function toRow(name: string, was = '–', is = '–'): string {
  return `  ${name.padEnd(8)} ${toColumn(was)}  ${toColumn(is)}`.trimEnd();
}

function toColumn(text: string): string {
  const points = Array.from(text);
  const shown =
    points.length > COLUMN_CHARACTERS ? `${points.slice(0, COLUMN_CHARACTERS - 1).join('')}…` : text;
  return shown + ' '.repeat(Math.max(0, COLUMN_CHARACTERS - Array.from(shown).length));
}
