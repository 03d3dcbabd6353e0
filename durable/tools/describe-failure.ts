/** A thrown value in words. */
export function describeFailure(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
