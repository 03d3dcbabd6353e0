export { type AuditReport, auditSession, type Finding, type RebuiltRequest } from './audit.ts';
export { type ExportedSession, type ExportLine, parseExport, readExportLines } from './exported.ts';
