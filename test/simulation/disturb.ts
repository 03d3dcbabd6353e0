/** What is done to a session's object and to what it reaches, by nobody who would hear an answer. */
import type { Disturbance } from './operations.ts';
import type { SessionHost, World } from './world.ts';

export function disturb(world: World, host: SessionHost, id: number, action: Disturbance): void {
  const { clock, skills, directory } = world;
  const { faults } = host;
  switch (action.kind) {
    case 'publish':
      skills.publish(id, action.settledAfterMs);
      return;
    case 'skills-down':
      skills.setDownUntil(clock.now() + action.ms);
      return;
    case 'skills-slow':
      skills.setDelay(action.delayMs);
      return;
    case 'lane-slow':
      world.setLaneDelay(action.delayMs);
      return;
    case 'directory-down':
      directory.setDownUntil(clock.now() + action.ms);
      return;
    case 'crash':
      host.crash();
      return;
    case 'evict':
      host.evict();
      return;
    case 'at-point':
      faults.atPoint(action.hits, action.action);
      return;
    case 'crash-at-write':
      faults.crashAtWrite(action.writes);
      return;
    case 'fill-disk':
      faults.fillDisk(action.after, action.writes);
      return;
    case 'fail-commit':
      faults.failNextCommit();
      return;
    case 'repeat-alarm':
      host.repeatNextAlarm();
      return;
  }
}
