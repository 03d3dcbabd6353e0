export { type Blobs, createBlobs } from './blobs.ts';
export { sha256Hex } from './digest.ts';
export { isInitialised, migrate } from './schema.ts';
export {
  type Identity,
  readIdentity,
  readState,
  type SessionState,
  writeIdentity,
  writeState,
} from './session-rows.ts';
export { createSqlPort, type SqlPort, type SqlValue } from './sql.ts';
