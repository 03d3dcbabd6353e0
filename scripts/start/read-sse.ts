export interface ServerEvent {
  event: string;
  data: string;
}

/** The events of a `text/event-stream` response (WHATWG HTML, section 9.2.6), as they arrive. */
export async function* readSse(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) return;
  let rest = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) yield event;
    }
  }
}

/** Null for a block without data: a comment, a retry interval. */
function parseBlock(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') event = value ?? '';
    if (field === 'data') data.push(value ?? '');
  }
  return data.length === 0 ? null : { event, data: data.join('\n') };
}
