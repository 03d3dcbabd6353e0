/** The recordings in `fixtures`, for tests in Node. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type RecordedSession, readRecording } from '../../scripts/replay/recorded-session.ts';

export const FIXTURES = fileURLToPath(new URL('fixtures', import.meta.url));
export const SKILLS = fileURLToPath(new URL('fixtures/skills', import.meta.url));
export const FIXTURE_NAMES = readdirSync(FIXTURES)
  .filter((file) => file.endsWith('.jsonl'))
  .map((file) => file.replace('.jsonl', ''));

export function readFixture(name: string): string {
  return readFileSync(`${FIXTURES}/${name}.jsonl`, 'utf8');
}

export function loadFixture(name: string): RecordedSession {
  return readRecording(readFixture(name));
}
