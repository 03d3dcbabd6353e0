/** What a server answers, as text for a model. Pure. */
import type { CallToolResult } from '@modelcontextprotocol/client';

/** Media are named and not shown: a tool cannot keep bytes where results keep them. */
export function renderResult({ content, structuredContent }: CallToolResult): string {
  const parts = content.map(renderBlock).filter((part) => part !== '');
  // Servers that send both send the same twice, as the protocol asks them to.
  const hasText = content.some(({ type }) => type === 'text');
  if (structuredContent !== undefined && !hasText) parts.push(JSON.stringify(structuredContent));
  return parts.join('\n\n');
}

type Block = CallToolResult['content'][number];

function renderBlock(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.mimeType}, ${countBytes(block.data)} bytes: not shown]`;
    case 'resource_link':
      return `[resource ${block.uri}${block.title ? `: ${block.title}` : ''}]`;
    case 'resource': {
      const { resource } = block;
      const about = `${resource.uri}${resource.mimeType ? `, ${resource.mimeType}` : ''}`;
      if ('text' in resource) return `[resource ${about}]\n${resource.text}`;
      return `[resource ${about}, ${countBytes(resource.blob)} bytes: not shown]`;
    }
    default:
      return '[content of a kind that is not known here]';
  }
}

function countBytes(base64: string): number {
  return Math.floor((base64.replaceAll('=', '').length * 3) / 4);
}
