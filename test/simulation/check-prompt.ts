/** What a provider accepts: each call has one result, right behind the message that asked for it, and nothing else has one. */
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

/** Problems in words; none for a prompt that a provider takes. Pure. */
export function checkPrompt(prompt: LanguageModelV4Prompt): string[] {
  const problems: string[] = [];
  if (prompt[0]?.role !== 'system') problems.push('the prompt does not begin with the system text');
  if (!prompt.some(({ role }) => role === 'user')) problems.push('nobody has said anything');
  let open = new Set<string>();
  for (const [i, message] of prompt.entries()) {
    if (message.role !== 'tool' && open.size > 0) {
      problems.push(`message ${i}: calls without a result: ${[...open].join()}`);
      open = new Set();
    }
    switch (message.role) {
      case 'system':
        if (i > 0) problems.push(`message ${i}: a second system text`);
        break;
      case 'user':
        if (message.content.length === 0) problems.push(`message ${i}: an empty message`);
        break;
      case 'assistant':
        if (message.content.length === 0) problems.push(`message ${i}: an empty answer`);
        for (const part of message.content) if (part.type === 'tool-call') open.add(part.toolCallId);
        break;
      case 'tool':
        for (const part of message.content) {
          if (part.type !== 'tool-result') continue;
          if (!open.delete(part.toolCallId))
            problems.push(`message ${i}: a result of nobody's call ${part.toolCallId}`);
        }
        break;
    }
  }
  if (open.size > 0) problems.push(`calls without a result at the end: ${[...open].join()}`);
  return problems;
}
