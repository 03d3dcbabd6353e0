/** A rule broken at a place. */
export interface Violation {
  path: string;
  line: number;
  message: string;
}

export function formatViolation({ path, line, message }: Violation): string {
  return `${path}:${line}: ${message}`;
}
