/** Something to tell the author of a skill. An `error` keeps the skill out of the bundle; a `warning` does not. */
export interface Diagnostic {
  file: string;
  /** From 1; 1 also where the whole file is meant. */
  line: number;
  severity: 'error' | 'warning';
  /** Stable, snake_case. */
  code: string;
  message: string;
}
