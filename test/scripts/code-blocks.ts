/** The code blocks of a page that name a file: `// path` or `<!-- path -->` on their first line. */
export interface CodeBlock {
  path: string;
  /** Without the line that names the file. */
  text: string;
}

const BLOCK = /^```(?:ts|markdown)\n(?:\/\/ (\S+)|<!-- (\S+) -->)\n([\s\S]*?)^```$/gm;

export function extractBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(BLOCK)].map(([, ts, markdown, text]) => ({
    path: ts ?? markdown ?? '',
    text: text ?? '',
  }));
}
