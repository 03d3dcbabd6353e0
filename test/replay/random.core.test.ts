import { expect, it } from 'vitest';
import { readRecording } from '../../scripts/replay/recorded-session.ts';
import { replaySession } from '../../scripts/replay/replay-session.ts';
import { readSkills } from '../../scripts/replay/replay-skills.ts';
import { createRandom } from '../support/random.ts';
import { SKILLS } from './fixtures.ts';
import { makeRandomSession, randomDeployment } from './random-session.ts';

/** `SEED=n` repeats one, `SEEDS=n` tries that many. Always the same ones otherwise: a red run is a change. */
const ONLY = process.env['SEED'];
const SEEDS = Number(process.env['SEEDS'] ?? 60);

it('replays whatever came to a session, and comes out the same', async () => {
  const skills = await readSkills(SKILLS, null);
  const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(ONLY)];
  for (const seed of seeds) {
    const recording = readRecording(await makeRandomSession(createRandom(seed), skills));
    const { differences, notes } = await replaySession(recording, 's', randomDeployment, skills);
    expect({ seed, differences, notes }).toEqual({ seed, differences: [], notes: [] });
  }
}, 60_000);
