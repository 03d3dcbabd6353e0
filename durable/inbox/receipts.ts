/** Answers to requests with an Idempotency-Key: the same request gets the first answer, another one an error. */
import type { z } from 'zod';
import { idempotencyConflict } from '../errors.ts';
import type { IdempotencyClaim } from '../rpc.ts';
import type { SqlPort } from '../storage/index.ts';

export interface Receipts {
  /** The first answer under this key, or null. Throws `idempotencyConflict` where the body was another. */
  find: <T>(claim: IdempotencyClaim | null, schema: z.ZodType<T>) => T | null;
  /** Part of the commit that does what the answer says. */
  keep: (claim: IdempotencyClaim | null, answer: object) => void;
}

export function createReceipts(sql: SqlPort, now: () => number): Receipts {
  return {
    find(claim, schema) {
      if (!claim) return null;
      const [row] = sql.all<{ digest: string; receipt: string }>(
        'SELECT digest, receipt FROM receipts WHERE key = ?',
        claim.key,
      );
      if (!row) return null;
      if (row.digest !== claim.digest) {
        throw idempotencyConflict('This Idempotency-Key came with another request before; use a new key.');
      }
      return schema.parse(JSON.parse(row.receipt));
    },
    keep(claim, answer) {
      if (!claim) return;
      sql.run(
        'INSERT INTO receipts (key, digest, receipt, at) VALUES (?, ?, ?, ?)',
        claim.key,
        claim.digest,
        JSON.stringify(answer),
        now(),
      );
    },
  };
}
