/** What a response says its body is, and what is done with it. Pure. */

export interface MediaType {
  /** Lower case, without parameters: `text/html`; empty where the response names none. */
  essence: string;
  /** As the response names it; null where it does not. */
  charset: string | null;
}

export type Reading = 'html' | 'text' | 'unknown' | 'binary';

/** Types that are text though they do not begin with `text/` nor end with `+json`, `+xml` or `+yaml`. */
const TEXT_TYPES = new Set([
  'application/ecmascript',
  'application/graphql',
  'application/javascript',
  'application/json',
  'application/json-seq',
  'application/jsonl',
  'application/mbox',
  'application/ndjson',
  'application/rtf',
  'application/sql',
  'application/toml',
  'application/x-httpd-php',
  'application/x-javascript',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-subrip',
  'application/x-tex',
  'application/x-yaml',
  'application/xml',
  'application/xml-dtd',
  'application/yaml',
]);

/** RFC 9110 section 8.3.1, names as RFC 6838 section 4.2 limits them; a header that is none of it counts as absent. */
export function parseMediaType(header: string | null): MediaType {
  const [type = '', ...parameters] = (header ?? '').split(';');
  const essence = type.trim().toLowerCase();
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s;]+)"?\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  return {
    essence: /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(essence) ? essence : '',
    charset: charset ?? null,
  };
}

/** How a body of this type is read; `unknown` where only its bytes can tell. */
export function chooseReading({ essence }: MediaType): Reading {
  if (essence === '') return 'unknown';
  if (essence === 'text/html' || essence === 'application/xhtml+xml') return 'html';
  if (essence.startsWith('text/') || /\+(?:json|xml|yaml)$/.test(essence)) return 'text';
  return TEXT_TYPES.has(essence) ? 'text' : 'binary';
}
