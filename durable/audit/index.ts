export { type AuditReport, auditSession, type Finding, type RebuiltRequest } from './audit.ts';
export { type ExportedSession, parseExport } from './exported.ts';
