/** What the loop works with. The session object wires it; tests may stand in for any of it. */
import type { Deployment } from '../composition.ts';
import type { Inbox } from '../inbox/index.ts';
import type { ModelResolver } from '../models/index.ts';
import type { Price } from '../plugins.ts';
import type { ModelCall, PromptPlan, SessionFacts } from '../prompt/index.ts';
import type { SkillReader } from '../skills/types.ts';
import type { Blobs, SessionState } from '../storage/index.ts';
import type { Wait } from '../time-limit.ts';
import type { ToolGuard } from '../tools/index.ts';
import type {
  DeltaFrame,
  Log,
  MessageId,
  StreamBuffer,
  Surface,
  TurnEndReason,
  TurnReceipt,
  TurnState,
  Usage,
} from '../transcript/index.ts';
import type { Workspace } from '../workspace/index.ts';
import type { SessionLimits } from './budgets.ts';
import type { Faults } from './faults.ts';
import type { Headers } from './headers.ts';
import type { PromptCache } from './prompt-cache.ts';

export interface LoopPorts {
  session: SessionFacts;
  /** Composed for this session; a mistake in it surfaces when a turn asks for it, and ends that turn. */
  plan: () => PromptPlan;
  /** The call before the waterfall: the agent's or the session's own model. */
  baseCall: () => ModelCall;
  limits: Pick<Deployment, 'modelStallMs' | 'stepMs' | 'retry' | 'approvalMs'>;
  guards: () => readonly ToolGuard[];
  workspace: Workspace;
  env: Readonly<Record<string, unknown>>;
  /** Of the session's agent. */
  budgets: () => SessionLimits;
  priceOf: (provider: string, model: string) => Price | undefined;
  /** Rows written to the database since the open turn started, or since this life of the object took it over. */
  rowsOfTurn: () => number;
  log: Log;
  surface: Surface;
  inbox: Inbox;
  blobs: Blobs;
  stream: StreamBuffer;
  headers: Headers;
  prompts: PromptCache;
  state: {
    read: () => SessionState;
    /** Part of a commit. */
    write: (change: Partial<SessionState>) => void;
  };
  /** The open turn as the log has it; null between turns. */
  turn: () => TurnState | null;
  models: ModelResolver;
  skills: SkillReader;
  /** Names of the skills that a person has invoked so far. */
  invokedSkills: () => ReadonlySet<string>;
  now: () => number;
  wait: Wait;
  /** From 0 to 1, as `Math.random`. */
  random: () => number;
  newMessageId: () => MessageId;
  publish: (frame: DeltaFrame) => void;
  watchdog: {
    /** Armed before the work that it guards. */
    arm: () => void;
    /** The session is idle: nothing wakes it any more but a request. */
    disarm: () => void;
    /** A turn waits for a person: it is looked after again at this time. */
    armAt: (time: number) => void;
  };
  reportTurn: (summary: TurnSummary) => void;
  /** A failure of the loop itself, which no turn could take in. */
  reportFailure: (error: unknown) => void;
  faults: Faults;
}

export interface TurnSummary {
  turn: number;
  reason: TurnEndReason;
  steps: number;
  usage: Usage;
  receipt: TurnReceipt;
}
