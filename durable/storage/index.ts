export { type Blobs, createBlobs } from './blobs.ts';
export { sha256Hex } from './digest.ts';
export {
  APPROVAL_KEY,
  APPROVAL_TYPES,
  clearRows,
  FATE_KEY,
  FATE_TYPES,
  isInitialised,
  migrate,
} from './schema.ts';
export {
  type Identity,
  markErasing,
  readIdentity,
  readPlace,
  readState,
  type SessionState,
  writeIdentity,
  writeState,
} from './session-rows.ts';
export { createSqlPort, type SqlPort, type SqlValue } from './sql.ts';
