/**
 * What the offline model says: a pure function of what it was given. It says that it is a demonstration, shows what
 * reached it (persona, skills, tools, the person's words), and with a skill it lays the words out under the skill's
 * own steps. A line `call <tool> {json}` in a person's message calls that tool; the braces may be left out.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { z } from 'zod';
import { sha256Hex } from '../storage/digest.ts';
import { messageSource } from '../transcript/events.ts';

interface OfflineCall {
  toolCallId: string;
  toolName: string;
  input: string;
}

export interface OfflineReply {
  text: string;
  calls: OfflineCall[];
}

type Tools = NonNullable<LanguageModelV4CallOptions['tools']>;
type UserMessage = Extract<LanguageModelV4Message, { role: 'user' }>;

/** What came since the model last spoke. */
interface News {
  words: string[];
  skills: { name: string; body: string }[];
  results: { tool: string; text: string }[];
  files: string[];
}

const CALL_LINE = /^[ \t]*call[ \t]+([\w-]{1,64})[ \t]*(\{.*)?[ \t]*$/;
const GESTURE = /(^|\s)\/[a-z0-9]+(?:-[a-z0-9]+)*(?=\s|$)/g;
const SKILL_BLOCK = /^<skill_content name="[^"]*">\n([\s\S]*)<\/skill_content>\s*$/;
/** Enough of a text to recognise it by. */
const EXCERPT_CHARACTERS = 160;
const MOST_STEPS = 8;
const INTRO =
  'This is a demonstration: no language model is at work here, only a fixed program that shows what reached it.';

export function composeReply(prompt: readonly LanguageModelV4Message[], tools: Tools): OfflineReply {
  const news = gatherNews(prompt);
  const names = tools.map((tool) => tool.name);
  const wanted = findCalls(news.words);
  const known = wanted.filter((call) => names.includes(call.tool));
  const unknown = wanted.filter((call) => !names.includes(call.tool));
  const calls = known.map((call, index) => ({
    toolCallId: `call_${sha256Hex(JSON.stringify([prompt.length, index, call])).slice(0, 16)}`,
    toolName: call.tool,
    input: call.input,
  }));
  const paragraphs = [
    news.results.length > 0 ? describeResults(news.results) : describeGiven(prompt, news, names),
    ...news.skills.map((skill) => followSkill(skill, news.words)),
    ...unknown.map((call) => `There is no tool named “${call.tool}” here. ${describeTools(names)}`),
    calls.length > 0 ? `Calling ${calls.map((call) => `\`${call.toolName}\``).join(', ')} as asked.` : '',
  ];
  return { text: paragraphs.filter((paragraph) => paragraph !== '').join('\n\n'), calls };
}

function gatherNews(prompt: readonly LanguageModelV4Message[]): News {
  const news: News = { words: [], skills: [], results: [], files: [] };
  const last = prompt.findLastIndex((message) => message.role === 'assistant');
  for (const message of prompt.slice(last + 1)) {
    if (message.role === 'user') gatherUser(message, news);
    if (message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type === 'tool-result') news.results.push({ tool: part.toolName, text: toText(part.output) });
    }
  }
  return news;
}

/** Only what somebody said is answered; catalogs and rules are not. A message without a source counts as said. */
function gatherUser(message: UserMessage, news: News): void {
  const source = messageSource.safeParse(message.providerOptions?.perch).data ?? { kind: 'user' };
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  switch (source.kind) {
    case 'skill-invocation':
      news.skills.push({ name: source.name, body: SKILL_BLOCK.exec(text)?.[1] ?? text });
      return;
    case 'user':
    case 'bot':
    case 'webhook':
    case 'delegation':
      if (text.trim() !== '') news.words.push(text);
      for (const part of message.content) {
        if (part.type === 'file')
          news.files.push(`${part.filename ?? 'a file without a name'} (${part.mediaType})`);
      }
      return;
    default:
  }
}

function toText(output: { type: string; value?: unknown; reason?: string | undefined }): string {
  if (typeof output.value === 'string') return output.value;
  const texts = z.array(
    z.object({ type: z.literal('text'), text: z.string() }).or(z.object({ type: z.string() })),
  );
  const parts = texts.safeParse(output.value);
  if (!parts.success) return output.reason ?? JSON.stringify(output.value);
  return parts.data.map((part) => ('text' in part ? part.text : `(${part.type})`)).join('\n');
}

function findCalls(words: readonly string[]): { tool: string; input: string }[] {
  return words.flatMap((text) =>
    text.split(/\r?\n/).flatMap((line) => {
      const [, tool, input = '{}'] = CALL_LINE.exec(line) ?? [];
      return tool === undefined ? [] : [{ tool, input: input.trim() }];
    }),
  );
}

function describeGiven(
  prompt: readonly LanguageModelV4Message[],
  news: News,
  tools: readonly string[],
): string {
  const lines = [
    ...openings(prompt).map((line) => `- My instructions open with: “${line}”`),
    ...news.skills.map((skill) => describeSkill(skill)),
    `- ${describeTools(tools)}`,
    ...news.files.map((file) => `- With it came ${file}.`),
    ...news.words.map((text) => `- You said: “${excerpt(text)}”`),
  ];
  return `${INTRO}\n\n${lines.join('\n')}`;
}

/** The first lines of the first two sections: who the harness says this is, and the persona. */
function openings(prompt: readonly LanguageModelV4Message[]): string[] {
  const system = prompt.find((message) => message.role === 'system')?.content ?? '';
  const sections = system.split(/\n\s*\n/).filter((section) => section.trim() !== '');
  return sections.slice(0, 2).map((section) => excerpt(section.trim().split('\n', 1)[0] ?? ''));
}

function describeSkill(skill: { name: string; body: string }): string {
  const headings = findHeadings(skill.body).slice(0, 2);
  const about =
    headings.length === 0 ? '' : `, which begins with ${headings.map((h) => `“${h}”`).join(' and ')}`;
  return `- The skill “${skill.name}” was loaded${about}.`;
}

function describeTools(names: readonly string[]): string {
  if (names.length === 0) return 'There are no tools.';
  return `Tools: ${names.map((name) => `\`${name}\``).join(', ')}. A line \`call ${names[0]} {}\` calls one.`;
}

function describeResults(results: News['results']): string {
  return results.map((result) => `The tool \`${result.tool}\` answered:\n\n${result.text}`).join('\n\n');
}

/** The skill's steps as a plan, and the words laid out as what to work on. */
function followSkill(skill: { name: string; body: string }, words: readonly string[]): string {
  const steps = findSteps(skill.body);
  const plan =
    steps.length === 0
      ? `Following “${skill.name}”, which lists no steps.`
      : `Following “${skill.name}”, a model would go through:\n\n${steps.map((step, i) => `${i + 1}. ${step}`).join('\n')}`;
  const task = layOut(
    words
      .map((text) => text.replace(GESTURE, '$1').trim())
      .join('\n')
      .trim(),
  );
  return task === '' ? plan : `${plan}\n\n${task}`;
}

/** `for v2: a, b` becomes a heading and a list. */
function layOut(text: string): string {
  if (text === '') return '';
  const [, topic, rest] = /^([^:\n]{1,60}):\s+([\s\S]+)$/.exec(text) ?? [];
  const title = (topic ?? '').replace(/^(?:for|about|on|of)\s+/i, '').trim();
  const items = (rest ?? text)
    .split(/[;,\n]+|\.\s+/)
    .map((item) => item.replace(/^\s*(?:[-*]|and\s)\s*/, '').trim())
    .filter((item) => item !== '' && !CALL_LINE.test(item));
  if (items.length === 0) return '';
  const list = items.map((item) => `- ${item.charAt(0).toUpperCase()}${item.slice(1)}`).join('\n');
  return `## ${title === '' ? 'What you gave me' : title}\n\n${list}`;
}

/** Numbered steps, else a checklist, else headings below the first. */
function findSteps(body: string): string[] {
  const lines = dropFences(body);
  const numbered = matchLines(lines, /^\d+[.)]\s+(.+)$/);
  const checklist = matchLines(lines, /^[-*]\s+\[[ x]\]\s+(.+)$/);
  const steps = [numbered, checklist, findHeadings(body).slice(1)].find((found) => found.length > 0) ?? [];
  return steps.slice(0, MOST_STEPS).map(excerpt);
}

function findHeadings(body: string): string[] {
  return matchLines(dropFences(body), /^#{1,4}\s+(.+?)\s*#*$/).map(excerpt);
}

function matchLines(lines: readonly string[], pattern: RegExp): string[] {
  return lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
}

/** A line in a code fence is no heading. */
function dropFences(body: string): string[] {
  let fenced = false;
  return body.split(/\r?\n/).filter((line) => {
    const fence = /^\s*(?:```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    return !fence && !fenced;
  });
}

/** One line, cut at a character's end. */
function excerpt(text: string): string {
  const points = Array.from(text.replace(/\s+/g, ' ').trim());
  if (points.length <= EXCERPT_CHARACTERS) return points.join('');
  return `${points.slice(0, EXCERPT_CHARACTERS - 1).join('')}…`;
}
