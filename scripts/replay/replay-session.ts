/** A recording against today's deployment: re-run, and compared with itself. */
import { readFile } from 'node:fs/promises';
import { PerchError } from '../../durable/errors.ts';
import type { ModelEnv } from '../../durable/models/index.ts';
import type { DeploymentDefinition } from '../../durable/plugins.ts';
import type { SkillView } from '../../durable/skills/types.ts';
import type { LogEvent } from '../../durable/transcript/index.ts';
import type { ReplayArguments } from './arguments.ts';
import { type Comparison, compareRuns } from './differences.ts';
import { NotARecording, type RecordedSession } from './recorded-session.ts';
import { readSkills } from './replay-skills.ts';
import { type RunOptions, type RunResult, runSession } from './run-session.ts';

export interface Replayed extends Comparison {
  events: LogEvent[];
  /** The re-run's log, as a session is exported. */
  exported: string;
}

/** Re-runs all of it with nothing changed. */
export async function replaySession(
  session: RecordedSession,
  id: string,
  deployment: DeploymentDefinition,
  skills: SkillView,
): Promise<Replayed> {
  const options = { model: null, persona: null, live: false, liveTools: false, env: {} };
  return runAndCompare({ session, id, deployment, skills, from: 1, ...options });
}

/** Takes the log up to `from`, and re-runs the rest with the change. Throws `NotARecording` where it cannot be parted there. */
export async function varySession(
  session: RecordedSession,
  id: string,
  deployment: DeploymentDefinition,
  skills: string,
  { from, change, live, liveTools }: NonNullable<ReplayArguments['variation']>,
  env: ModelEnv,
): Promise<Replayed> {
  checkBoundary(session.events, from);
  return runAndCompare({
    session,
    id,
    deployment,
    skills: await readSkills(skills, change.kind === 'skill' ? change.value : null),
    from,
    model: change.kind === 'model' ? change.value : null,
    persona: change.kind === 'persona' ? await readFile(change.value, 'utf8') : null,
    live: live || change.kind === 'model',
    liveTools,
    env,
  });
}

async function runAndCompare(options: RunOptions): Promise<Replayed> {
  const { session, from, live } = options;
  let run: RunResult;
  try {
    run = await runSession(options);
  } catch (error) {
    // The deployment has no such agent any more, or is wrong as a whole: nothing of the session would come to pass.
    if (!(error instanceof PerchError)) throw error;
    const what = `the session cannot be opened: ${error.data.code}: ${error.data.detail}`;
    const difference = { turn: null, step: null, kind: 'outcome' as const, owner: null, what, text: null };
    return { differences: [difference], notes: [], events: [], exported: '' };
  }
  const decoder = new TextDecoder();
  const recorded = {
    events: session.events,
    readText: (digest: string) => decoder.decode(session.blobs.get(digest)),
  };
  const { differences, notes } = compareRuns(recorded, run, { from, sameAnswers: !live });
  return { differences, notes: [...notes, ...run.notes], events: run.events, exported: run.exported };
}

/** A place behind which no step is open; inside a turn, the turn goes on from there. */
function checkBoundary(events: readonly LogEvent[], from: number): void {
  if (from > events.length) throw new NotARecording(`--from ${from}: the log ends at ${events.length}`);
  let open: number | null = null;
  for (const { seq, type } of events.slice(0, from)) {
    if (type === 'step/start' || type === 'command/run') open = seq;
    if (type === 'step/end' || type === 'turn/end' || type === 'command/done') open = null;
  }
  if (open === null) return;
  const after = events.find(
    ({ seq, type }) => seq >= from && (type === 'step/end' || type === 'turn/end' || type === 'command/done'),
  );
  throw new NotARecording(
    `--from ${from}: a step is open there; the nearest places are ${open - 1} and ${after?.seq ?? events.length}`,
  );
}
