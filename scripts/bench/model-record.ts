import { z } from 'zod';

/** One request as the model server saw it; times are `nowMs()`. */
export const requestRecord = z.object({
  /** Its head was there. */
  began: z.number(),
  /** Its body was there. */
  arrived: z.number(),
  /** The last piece of the answer was handed to the socket, or nobody read it any more. */
  ended: z.number(),
  bytes: z.number(),
});
export type RequestRecord = z.infer<typeof requestRecord>;
