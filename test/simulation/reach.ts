import type { Life } from './clock.ts';

/** A call to the world outside by one life of an object: what it does there stays, its answer may come too late. */
export type Reach = <T>(life: Life, ms: number, perform: () => T) => Promise<T>;
