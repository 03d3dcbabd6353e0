/**
 * Rebuilds every request of a session from its exported log and checks it against the digest that was logged before
 * the request was sent. What cannot be rebuilt, or comes out otherwise, is a finding. Pure.
 */
import { storedToolSchemas, type ToolSchema } from '../models/types.ts';
import { diffHeaders, type HeaderChange } from '../prompt/diff.ts';
import { type ModelOptions, modelOptions } from '../prompt/types.ts';
import { sha256Hex } from '../storage/digest.ts';
import type { LogEvent, RequestHeader, SurfaceEvent } from '../transcript/events.ts';
import { digestRequest, EMPTY_CHAIN, extendChain } from '../transcript/request-digest.ts';
import { foldSurface } from '../transcript/surface-fold.ts';
import type { ExportedSession } from './exported.ts';

/** A request as it was sent, from the log alone. */
export interface RebuiltRequest {
  seq: number;
  turn: number;
  step: number;
  attempt: number;
  provider: string;
  model: string;
  system: string;
  tools: readonly ToolSchema[];
  options: ModelOptions;
  surface: readonly SurfaceEvent[];
  /** What the header says that the request before did not. */
  changes: HeaderChange[];
  /** Whether the request before is a prefix of this one: same header, same messages and more. */
  extendsPrevious: boolean;
}

export interface Finding {
  seq: number;
  problem: string;
}

export interface AuditReport {
  events: number;
  requests: RebuiltRequest[];
  findings: Finding[];
}

export function auditSession({ events, blobs }: ExportedSession): AuditReport {
  const findings: Finding[] = [];
  const requests: RebuiltRequest[] = [];
  let surface: readonly SurfaceEvent[] = [];
  let header: RequestHeader | null = null;
  let previous: Sent | null = null;
  checkNumbers(events, findings);
  for (const event of events) {
    surface = foldSurface(surface, event);
    if (event.type === 'request/header') header = event.header;
    if (event.type !== 'request/attempt') continue;
    if (!header) {
      findings.push({ seq: event.seq, problem: 'a request without a header before it' });
      continue;
    }
    const chain = surface.reduce(extendChain, EMPTY_CHAIN);
    if (digestRequest(header, chain) !== event.digest) {
      findings.push({ seq: event.seq, problem: 'the rebuilt request is not the one that was logged' });
    }
    const texts = readTexts(header, blobs, event.seq, findings);
    if (!texts) continue;
    const { turn, step, attempt } = event;
    const { provider, model } = header;
    const changes = previous ? diffHeaders(previous.header, header) : [];
    const extendsPrevious = previous !== null && isExtension(previous, { header, surface });
    requests.push({
      seq: event.seq,
      turn,
      step,
      attempt,
      provider,
      model,
      ...texts,
      surface,
      changes,
      extendsPrevious,
    });
    previous = { header, surface };
  }
  return { events: events.length, requests, findings };
}

interface Sent {
  header: RequestHeader;
  surface: readonly SurfaceEvent[];
}

function checkNumbers(events: readonly LogEvent[], findings: Finding[]): void {
  for (const [i, { seq }] of events.entries()) {
    if (seq !== i + 1) {
      findings.push({ seq, problem: `the log has a gap: ${i + 1} is expected` });
      return;
    }
  }
}

/** The texts that a header names; each must have the digest under which it is kept. */
function readTexts(
  header: RequestHeader,
  blobs: ReadonlyMap<string, Uint8Array>,
  seq: number,
  findings: Finding[],
): Pick<RebuiltRequest, 'system' | 'tools' | 'options'> | null {
  const decoder = new TextDecoder();
  const readText = (digest: string, what: string): string | null => {
    const bytes = blobs.get(digest);
    if (bytes && sha256Hex(bytes) === digest) return decoder.decode(bytes);
    findings.push({ seq, problem: `the ${what} ${digest} is ${bytes ? 'another text' : 'missing'}` });
    return null;
  };
  const system = readText(header.system.digest, 'system text');
  const tools = readText(header.tools.digest, 'list of tools');
  if (system === null || tools === null) return null;
  return {
    system,
    tools: storedToolSchemas.parse(JSON.parse(tools)),
    options: modelOptions.parse(header.config),
  };
}

function isExtension(before: Sent, after: Sent): boolean {
  const { header: a, surface: was } = before;
  const { header: b, surface: is } = after;
  return (
    a.provider === b.provider &&
    a.model === b.model &&
    a.system.digest === b.system.digest &&
    a.tools.digest === b.tools.digest &&
    was.every(({ seq }, i) => is[i]?.seq === seq)
  );
}
