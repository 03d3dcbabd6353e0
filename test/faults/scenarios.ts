/**
 * What is killed: stories of clients and one session. Each says what is to be true when it is over, whatever was done
 * to the object meanwhile, besides the promises that hold for all of them.
 */
import type { LogEvent, LogEventOf } from '../../durable/transcript/events.ts';
import { publishSkills } from '../support/skills.ts';
import { HOLD_LANE } from './deployment.ts';
import type { Evidence } from './evidence.ts';
import { HOLD, SLOWLY } from './puppet.ts';
import type { World } from './world.ts';

export interface Scenario {
  name: string;
  /** `keeper` where absent. */
  agent?: string;
  /** Cases where not as many as of others: its story takes long. */
  cases?: number;
  /** Its story begins before there is a session. */
  createsItself?: boolean;
  /** Its way to quiet leads over a client: with nobody connected it may stand still where it is held. */
  isHeld?: boolean;
  /** What one of its inputs may come to besides `completed`, where nothing throws. */
  ends?: readonly LogEventOf<'turn/end'>['reason']['kind'][];
  prepare?: (world: World) => Promise<void> | void;
  act: (world: World) => Promise<void>;
  /** What is wrong with the outcome beyond the promises. */
  judge?: (evidence: Evidence, child?: Evidence) => string[];
}

const CALLS = [
  'call effect {"text":"alone"}',
  'call beside {"text":"one"}',
  'call again {"text":"two"}',
  'call beside {"text":"three"}',
  'call broken {}',
  'call nobodys {}',
].join('\n');

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'prompts',
    async act({ client }) {
      await client.send('the first prompt');
      await client.send('the second prompt');
      await client.send('the third prompt');
    },
    judge: ({ rows }) =>
      expectTexts(rows?.events, ['the first prompt', 'the second prompt', 'the third prompt']),
  },
  {
    name: 'create',
    createsItself: true,
    async act({ client, create }) {
      await create();
      await client.send('the first prompt');
    },
    judge: ({ ledger }) => ledger.refusals.map(({ what, code }) => `${what} was refused: ${code}`),
  },
  {
    name: 'tools',
    async act({ client }) {
      await client.send(`use them\n${CALLS}`);
      await client.send('and then this');
    },
    judge: ({ rows }) =>
      of(rows?.events, 'tool/result').length === 5 ? [] : ['not all five calls have a result'],
  },
  {
    name: 'many-steps',
    async act({ client }) {
      await client.send('call again {"text":"a"}\ncall effect {"text":"b"}');
      await client.send('call again {"text":"c"}');
      await client.send('call effect {"text":"d"}\ncall again {"text":"e"}');
    },
  },
  {
    name: 'steer',
    isHeld: true,
    async act({ client, outside, until, release }) {
      await client.send(`${HOLD} of this`);
      await until(() => outside.isHolding);
      await client.send('mind this as well', 'steer');
      await client.send('and know this', 'inject');
      await client.send('the next prompt');
      release();
    },
    judge: judgeSteer,
  },
  {
    name: 'steer-idle',
    async act({ client, settle }) {
      await client.send('left for later', 'inject');
      await client.send('wakes it', 'steer');
      await settle();
      await client.send('for nobody yet', 'inject');
      await client.send('a prompt that takes it');
    },
  },
  {
    name: 'cancel-answer',
    isHeld: true,
    ends: ['aborted'],
    async act({ client, outside, until, release }) {
      await client.send(`${HOLD} of that`);
      await until(() => outside.isHolding);
      await client.cancel({ promptsSeen: () => countPrompts(outside, `${HOLD} of that`) });
      await client.send('the next prompt');
      release();
    },
    judge: (evidence) => judgeCancel(evidence, `${HOLD} of that`),
  },
  {
    name: 'cancel-tool',
    isHeld: true,
    ends: ['aborted'],
    async act({ client, outside, until, release }) {
      await client.send('call held {"text":"x"}\ncall effect {"text":"y"}\ncall again {"text":"z"}');
      await client.send('one that waits');
      await until(() => outside.isHolding);
      await client.cancel({ promptsSeen: () => countPrompts(outside, 'call held') });
      await client.cancel({ promptsSeen: () => countPrompts(outside, 'call held') });
      release();
    },
  },
  {
    name: 'cancel-preparation',
    isHeld: true,
    ends: ['aborted', 'interrupted'],
    async act({ client, outside, until, release }) {
      await client.send(`${HOLD_LANE} for this`);
      await client.send('one that is cleared');
      await until(() => outside.isHolding);
      await client.cancel({ clear: true });
      await client.send('the next prompt');
      release();
    },
  },
  {
    name: 'retries',
    prepare({ outside }) {
      outside.failures.push('server', 'rate-limit', 'cut', 'empty', 'unreachable', 'stall');
    },
    async act({ client }) {
      await client.send('ask until it answers\ncall again {"text":"t"}');
      await client.send('and once more');
    },
  },
  {
    name: 'budget',
    agent: 'frugal',
    ends: ['budget'],
    async act({ client, settle }) {
      await client.send('call again {"text":"a"}\ncall again {"text":"b"}\ncall effect {"text":"c"}');
      await settle();
      await client.send('a modest one');
    },
  },
  {
    name: 'gestures',
    async prepare() {
      await publishSkills({ standup: 'The first edition.', review: 'How to review.' });
    },
    async act({ client, settle }) {
      await client.send('/standup for me');
      await settle();
      await publishSkills({ standup: 'The second edition.', review: 'How to review.' });
      await client.send('/standup and /review for me\ncall skill {"name":"review"}');
    },
    judge: judgeGestures,
  },
  {
    name: 'discard',
    isHeld: true,
    async act({ client, outside, until, release }) {
      await client.send(`${HOLD} of the first`);
      const unwanted = await client.send('never mind this');
      await client.send('this is wanted');
      await until(() => outside.isHolding);
      await client.discard(unwanted);
      await client.discard(unwanted);
      release();
    },
    judge: ({ rows }) => expectTexts(rows?.events, [`${HOLD} of the first`, 'this is wanted']),
  },
  {
    name: 'reset',
    async act({ client, settle }) {
      await client.send('what will be forgotten\ncall again {"text":"a"}');
      await settle();
      await client.reset();
      await client.send('a fresh start');
    },
    judge: judgeReset,
  },
  {
    name: 'repair',
    async act({ client, settle }) {
      await client.send('what is in order\ncall effect {"text":"a"}');
      await settle();
      await client.ask('repair', 'POST', `/v1/sessions/${client.session}/repair`, {});
      await client.send('and goes on');
    },
    judge: ({ ledger }) => ledger.refusals.map(({ what, code }) => `${what} was refused: ${code}`),
  },
  {
    name: 'fork',
    ends: ['interrupted'],
    async act({ client, settle, fork }) {
      await client.send('what both know\ncall again {"text":"a"}\ncall effect {"text":"b"}');
      await settle();
      await client.send('waits at the fork', 'inject');
      const child = await fork();
      await child.send('said to the child');
      await client.send('said to the parent');
    },
    judge: judgeFork,
  },
  {
    name: 'viewers',
    isHeld: true,
    cases: 60,
    async act({ client, outside, until, release, view }) {
      await view();
      await client.send(`${SLOWLY}, ${HOLD} here`);
      await until(() => outside.isHolding);
      release();
      await client.send(`${SLOWLY}\ncall again {"text":"seen"}`);
    },
  },
  {
    name: 'erase',
    isHeld: true,
    async act({ client, outside, until }) {
      await client.send(`${HOLD} for ever`);
      await client.send('one that waits');
      await until(() => outside.isHolding);
      await client.erase();
    },
    judge: ({ rows, alarm }) => [
      ...(rows ? ['the session is still there'] : []),
      ...(alarm === null ? [] : ['its alarm is still there']),
    ],
  },
];

function of<T extends LogEvent['type']>(events: readonly LogEvent[] | undefined, type: T): LogEventOf<T>[] {
  return (events ?? []).filter((event): event is LogEventOf<T> => event.type === type);
}

/** What people said, in order, those of them that `texts` names. */
function expectTexts(events: readonly LogEvent[] | undefined, texts: readonly string[]): string[] {
  const said = of(events, 'user/message').flatMap(({ message: { source, content } }) =>
    source.kind === 'user' ? content.map((block) => ('text' in block ? block.text : '')) : [],
  );
  const named = said.filter((text) => texts.includes(text));
  return JSON.stringify(named) === JSON.stringify(texts) ? [] : [`said is ${JSON.stringify(said)}`];
}

/** What steers comes into the turn that runs, and the next prompt does not. */
function judgeSteer({ rows }: Evidence): string[] {
  const texts = [`${HOLD} of this`, 'mind this as well', 'and know this', 'the next prompt'];
  const turns = of(rows?.events, 'user/message').flatMap(({ turn, message: { content } }) =>
    content.flatMap((block) => ('text' in block && texts.includes(block.text) ? [turn] : [])),
  );
  const [first, steer, , next] = turns;
  const problems = expectTexts(rows?.events, texts);
  if (steer !== first || next === first) problems.push(`taken by the turns ${turns.join(', ')}`);
  return problems;
}

/** Requests that were made because of these words: nobody had spoken since. */
export function countPrompts({ prompts }: Evidence['outside'], words: string): number {
  return prompts.filter((prompt) => {
    const spoken = prompt.findLast(
      ({ role, content, providerOptions }) =>
        role === 'user' &&
        JSON.stringify(providerOptions ?? {}).includes('"user"') &&
        JSON.stringify(content) !== '',
    );
    return JSON.stringify(spoken ?? '').includes(words);
  }).length;
}

/** After a cancel was acknowledged, the model is not asked for that turn again. */
function judgeCancel({ ledger, outside }: Evidence, words: string): string[] {
  const now = countPrompts(outside, words);
  const wrong = ledger.cancels.filter(({ promptsSeen }) => promptsSeen > 0 && now > promptsSeen);
  return wrong.length === 0 ? [] : [`a cancelled turn asked the model again (${now} times in all)`];
}

function judgeGestures({ rows }: Evidence): string[] {
  const invoked = of(rows?.events, 'user/message').flatMap(({ turn, message: { source, content } }) =>
    source.kind === 'skill-invocation' ? [{ turn, name: source.name, text: JSON.stringify(content) }] : [],
  );
  const turns = [...new Set(invoked.map(({ turn }) => turn))];
  const seen = turns.map((turn) => invoked.flatMap((one) => (one.turn === turn ? [one.name] : [])));
  const wanted = [['standup'], ['standup', 'review']];
  const problems =
    JSON.stringify(seen) === JSON.stringify(wanted) ? [] : [`invoked: ${JSON.stringify(seen)}`];
  const [first, second] = invoked.filter(({ name }) => name === 'standup');
  if (first && !first.text.includes('The first edition.'))
    problems.push('the first turn read another edition');
  if (second && !second.text.includes('The second edition.')) {
    problems.push('the second turn read an old edition');
  }
  return problems;
}

function judgeReset({ outside, ledger }: Evidence): string[] {
  if (ledger.resets === 0) return ['the reset was never taken'];
  const after = outside.prompts.filter((prompt) => JSON.stringify(prompt).includes('a fresh start'));
  const remembers = after.some((prompt) => JSON.stringify(prompt).includes('what will be forgotten'));
  return remembers ? ['what was forgotten is in a request'] : [];
}

function judgeFork({ rows }: Evidence, child?: Evidence): string[] {
  if (!rows || !child?.rows) return ['there is no child'];
  const problems = [
    ...expectTexts(rows.events, ['said to the parent']),
    ...expectTexts(child.rows.events, ['said to the child']),
  ];
  const shared = child.ownAfter;
  const until = (events: readonly LogEvent[]) => JSON.stringify(events.slice(1, shared).map(withoutTime));
  if (shared < 5) problems.push(`only ${shared} events are shared`);
  if (until(rows.events) !== until(child.rows.events)) problems.push('the shared events differ');
  return problems;
}

function withoutTime(event: LogEvent): object {
  return { ...event, at: 0 };
}
