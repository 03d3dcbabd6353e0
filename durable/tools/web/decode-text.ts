/** Bytes of a page to text, as the Encoding and HTML standards choose the encoding. Pure. */

/** Where HTML, XML and CSS have to say their encoding, if they do. */
const PRESCAN_BYTES = 1_024;

/**
 * The byte order mark decides, then the header, then what the document says of itself, then UTF-8; bytes that are none of
 * it and say nothing are windows-1252, as on the web. The text is well-formed UTF-16.
 */
export function decodeText(bytes: Uint8Array, charset: string | null): string {
  const decoder = openDecoder(readMark(bytes) ?? charset) ?? openDecoder(readDeclared(bytes));
  return decoder === null ? decodeUndeclared(bytes) : decoder.decode(bytes);
}

/** Whether bytes without a type look like HTML (the WHATWG's MIME sniffing, in short). */
export function looksLikeHtml(text: string): boolean {
  const begin = text.trimStart().slice(0, 100).toLowerCase();
  return /^(?:<!--|<(?:!doctype html|html|head|body|title|h1|p|div|table|script|style|a|br|b)[\s>])/.test(
    begin,
  );
}

function decodeUndeclared(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  return text.includes('\uFFFD') ? new TextDecoder('windows-1252').decode(bytes) : text;
}

function readMark(bytes: Uint8Array): string | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : null;
}

/** `<meta charset>`, `<meta http-equiv content>`, `<?xml encoding?>`, `@charset`. */
function readDeclared(bytes: Uint8Array): string | null {
  const head = new TextDecoder('windows-1252').decode(bytes.subarray(0, PRESCAN_BYTES));
  const found =
    /^\s*<\?xml\s[^>]*\bencoding\s*=\s*["']([^"'>]+)["']/.exec(head) ??
    /<meta\s[^>]*\bcharset\s*=\s*["']?\s*([^"'\s/>;]+)/i.exec(head) ??
    /^@charset "([^"]+)"/.exec(head);
  const label = found?.[1]?.toLowerCase() ?? null;
  // A document that could be read this far is not in UTF-16, whatever it says.
  return label?.startsWith('utf-16') === true ? 'utf-8' : label;
}

/** Null for no label and for one that names no encoding. */
function openDecoder(label: string | null): TextDecoder | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label);
  } catch {
    // A RangeError: the label is the page's invention.
    return null;
  }
}
