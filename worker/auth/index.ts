export { authenticate, type Caller, requireScope } from './authenticate.ts';
export { createId } from './ids.ts';
export { createKeyCache, type KeyCache } from './key-cache.ts';
export type { Scope } from './key-format.ts';
export { directoryName, objectName, retriedMessageId } from './names.ts';
