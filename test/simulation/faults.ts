/** What is planned to go wrong in one object: at a fault point, at a statement that writes, at a commit. */
import type { Clock } from './clock.ts';
import type { StatementFault } from './storage.ts';

/** What happens at a fault point: the object dies, is held and dies later, goes on late, or the point throws. */
export type PointAction =
  | { kind: 'crash' }
  | { kind: 'hold'; ms: number }
  | { kind: 'delay'; ms: number }
  | { kind: 'throw' };

/** The message of what was thrown on purpose. */
export const INJECTED = 'injected fault';

export interface FaultPlan {
  /** Counts from now: 1 is the next one. */
  atPoint: (hits: number, action: PointAction) => void;
  crashAtWrite: (writes: number) => void;
  /** The disk is full for so many writes, after so many more. */
  fillDisk: (after: number, writes: number) => void;
  failNextCommit: () => void;
  hit: (point: string) => void | Promise<void>;
  onWrite: () => StatementFault;
  failsCommit: () => boolean;
  /** Nothing that is planned happens any more. */
  calm: () => void;
  /** Whether a disk that was full or a point that threw has troubled the object: it may pause longer then. */
  hasFailed: () => boolean;
  /** Whether anything that was planned has happened. */
  hasActed: () => boolean;
  /** Points passed, by name. */
  passed: ReadonlyMap<string, number>;
}

export function createFaultPlan(clock: Clock, crash: () => void): FaultPlan {
  let points: { hits: number; action: PointAction }[] = [];
  let crashes: number[] = [];
  let full: { after: number; writes: number }[] = [];
  let commits = 0;
  let hasFailed = false;
  let hasActed = false;
  const passed = new Map<string, number>();
  const never = (): Promise<void> => new Promise<void>(() => undefined);

  const act = (action: PointAction): void | Promise<void> => {
    const life = clock.current();
    hasActed = true;
    switch (action.kind) {
      case 'crash':
        crash();
        return never();
      case 'hold':
        clock.after(action.ms, life, crash);
        return never();
      case 'delay':
        return new Promise((resolve) => void clock.after(action.ms, life, resolve));
      case 'throw':
        hasFailed = true;
        throw new Error(INJECTED);
    }
  };
  return {
    atPoint: (hits, action) => void points.push({ hits, action }),
    crashAtWrite: (writes) => void crashes.push(writes),
    fillDisk: (after, writes) => void full.push({ after, writes }),
    failNextCommit: () => void commits++,
    hasFailed: () => hasFailed,
    hasActed: () => hasActed,
    passed,
    hit(point) {
      passed.set(point, (passed.get(point) ?? 0) + 1);
      const life = clock.current();
      // The points of a life that has ended are nowhere: its code does not go on.
      if (life && !life.alive) return never();
      for (const entry of points) entry.hits--;
      const due = points.find(({ hits }) => hits <= 0);
      if (!due) return;
      points = points.filter((entry) => entry !== due);
      return act(due.action);
    },
    onWrite() {
      crashes = crashes.map((left) => left - 1);
      if (crashes.some((left) => left <= 0)) {
        crashes = crashes.filter((left) => left > 0);
        return 'crash';
      }
      const now = full.find(({ after }) => after <= 0);
      for (const entry of full) entry.after--;
      if (!now) return 'none';
      now.writes--;
      hasFailed = true;
      hasActed = true;
      full = full.filter(({ writes }) => writes > 0);
      return 'full';
    },
    failsCommit() {
      if (commits === 0) return false;
      commits--;
      return true;
    },
    calm() {
      points = [];
      crashes = [];
      full = [];
      commits = 0;
    },
  };
}
