/**
 * Milliseconds of the machine's monotonic clock: on Linux and macOS one origin for all processes, so that a moment
 * in the client and one in the model server can be subtracted.
 */
export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
