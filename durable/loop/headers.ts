/** Request headers as a session goes on: built when something changed, logged when the log has another. */
import { type BuiltHeader, createHeaderBuilder, type HeaderParts } from '../prompt/index.ts';
import type { SessionState } from '../storage/index.ts';
import { type Log, type RequestHeader, requestHeader } from '../transcript/index.ts';

export interface Headers {
  build: (parts: HeaderParts) => BuiltHeader;
  /** Whether the log's newest header says the same. */
  isLogged: (built: BuiltHeader) => boolean;
  markLogged: (built: BuiltHeader) => void;
  /** The log's newest header. Throws where there is none: a step without one does not exist. */
  newest: () => RequestHeader;
}

export function createHeaders(log: Log, readState: () => SessionState): Headers {
  const builder = createHeaderBuilder();
  let current: BuiltHeader | null = null;
  // A commit that was undone logged no header.
  log.observe(
    () => undefined,
    () => {
      current = null;
    },
  );
  const readNewest = (): RequestHeader | null => {
    const { headerSeq } = readState();
    if (headerSeq === 0) return null;
    const [event] = log.read(headerSeq, headerSeq);
    return event?.type === 'request/header' ? event.header : null;
  };
  return {
    build: builder.build,
    isLogged(built) {
      if (current === built) return true;
      // Another object, perhaps of equal content: after a restart, or after a change and its undoing.
      const newest = readNewest();
      const same =
        newest !== null && JSON.stringify(newest) === JSON.stringify(requestHeader.parse(built.header));
      if (same) current = built;
      return same;
    },
    markLogged(built) {
      current = built;
    },
    newest() {
      const header = readNewest();
      if (!header) throw new Error('the log holds no request header');
      return header;
    },
  };
}
