/** What a run found wrong. */
export type ProblemKind = 'lost' | 'doubled' | 'stuck' | 'wrong';

export interface Problem {
  kind: ProblemKind;
  text: string;
}

export type Complain = (kind: ProblemKind, text: string) => void;
