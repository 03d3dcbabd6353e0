import { describe, expect, it } from 'vitest';
import { exceedsJsonDepth } from '../../worker/http/json-depth.ts';

const nested = (depth: number): string => `${'['.repeat(depth)}1${']'.repeat(depth)}`;

describe('the depth of JSON', () => {
  it('may reach the limit and not pass it', () => {
    expect(exceedsJsonDepth(nested(32), 32)).toBe(false);
    expect(exceedsJsonDepth(nested(33), 32)).toBe(true);
    expect(exceedsJsonDepth('{"a":{"b":[{}]}}', 4)).toBe(false);
    expect(exceedsJsonDepth('{"a":{"b":[{}]}}', 3)).toBe(true);
  });

  it('counts what is open, not how much there is', () => {
    expect(exceedsJsonDepth(`[${'[],'.repeat(1_000)}[]]`, 2)).toBe(false);
  });

  it('does not count brackets in strings, whatever is escaped in them', () => {
    expect(exceedsJsonDepth('["[[[[{{{{", "\\"[[[", "\\\\", "\\u005b[["]', 1)).toBe(false);
    expect(exceedsJsonDepth('["\\\\", [[]]]', 2)).toBe(true);
  });

  it('takes one pass over a hostile text', () => {
    const started = performance.now();
    expect(exceedsJsonDepth('['.repeat(12_000_000), 32)).toBe(true);
    expect(exceedsJsonDepth(`"${'\\"['.repeat(2_000_000)}"`, 32)).toBe(false);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
