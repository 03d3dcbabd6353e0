export { interruptTurn } from './close-turn.ts';
export { copyLog, unwrap } from './copy.ts';
export { createLender, type Lender } from './lend.ts';
export { addToPrefix, createPrefix, type Prefix } from './prefix.ts';
export type { ForkPoint, ForkSource } from './types.ts';
