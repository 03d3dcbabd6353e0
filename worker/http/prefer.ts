/** The longest that a request is held open for an answer, in seconds. */
export const MAX_WAIT_SECONDS = 300;

/**
 * The `wait` preference of a Prefer header (RFC 7240 section 4.3), in whole seconds and at most `MAX_WAIT_SECONDS`;
 * null where there is none. The first mention counts (section 2), a value that is no number of seconds is no
 * preference, and other preferences are ignored.
 */
export function parseWait(header: string | undefined): number | null {
  for (const preference of (header ?? '').split(',')) {
    const [name = '', value = ''] = (preference.split(';')[0] ?? '').split('=').map((part) => part.trim());
    if (name.toLowerCase() !== 'wait') continue;
    const seconds = /^"?(\d{1,9})"?$/.exec(value)?.[1];
    return seconds === undefined ? null : Math.min(Number(seconds), MAX_WAIT_SECONDS);
  }
  return null;
}
