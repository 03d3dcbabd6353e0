/**
 * How far a socket's client is behind. The platform takes whatever is sent and never says how much of it has gone out,
 * so the client says it: after some bytes it is asked (`probe`), and it answers (`ack`) when it has read up to there.
 * Pure.
 */
export interface FlowLimits {
  /** A probe follows each so many bytes. */
  probeBytes: number;
  /** Sent without an acknowledgement; beyond it, nothing more is sent until there is one. */
  windowBytes: number;
  /** Sent and held back without an acknowledgement; beyond it, the client is dropped. */
  mostBytes: number;
  /** Nor may it wait this long for an acknowledgement, where something is held back. */
  slowMs: number;
}

const KB = 1_024;
export const FLOW_LIMITS: FlowLimits = {
  probeBytes: 256 * KB,
  windowBytes: 1_024 * KB,
  mostBytes: 4_096 * KB,
  slowMs: 60_000,
};

export interface Flow {
  /** Counts what was sent. The number of the probe that is due behind it; null where none is. */
  send: (bytes: number) => number | null;
  /** Counts what was held back. */
  hold: (bytes: number) => void;
  /** Whether it acknowledges anything new. */
  ack: (n: number) => boolean;
  isFull: () => boolean;
  isLost: () => boolean;
}

export function createFlow(limits: FlowLimits): Flow {
  let sent = 0;
  let acknowledged = 0;
  let held = 0;
  let probes = 0;
  /** What was sent before each probe that is not answered, the oldest first. */
  const waiting: { n: number; sent: number }[] = [];

  const outstanding = (): number => sent - acknowledged;
  return {
    send(bytes) {
      sent += bytes;
      if (sent - (waiting.at(-1)?.sent ?? acknowledged) < limits.probeBytes) return null;
      probes += 1;
      waiting.push({ n: probes, sent });
      return probes;
    },
    hold(bytes) {
      held += bytes;
    },
    ack(n) {
      const answered = waiting.findIndex((probe) => probe.n === n);
      if (answered < 0) return false;
      acknowledged = waiting.splice(0, answered + 1).at(-1)?.sent ?? acknowledged;
      held = 0;
      return true;
    },
    isFull: () => outstanding() >= limits.windowBytes,
    // A single frame may be longer than all of it, and the client is not to blame.
    isLost: () => Math.min(outstanding(), limits.windowBytes) + held > limits.mostBytes,
  };
}
