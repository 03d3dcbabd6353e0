/** Views, entries and lane contexts for tests of what reads skills. */
import { z } from 'zod';
import type { LaneContext } from '../../durable/context/types.ts';
import type { SkillHeader } from '../../durable/skills/header-fields.ts';
import { skillsPlugin } from '../../durable/skills/index.ts';
import { buildEntry } from '../../durable/skills/manifest.ts';
import type { SkillEntry, SkillView } from '../../durable/skills/types.ts';
import type { LogEventOf, MessageSource, UserMessage } from '../../durable/transcript/events.ts';
import { contentBlock, userMessage } from '../../durable/transcript/events.ts';

export interface Sample extends Partial<SkillHeader> {
  body?: string;
  resources?: string[];
}

export function makeEntry(
  name: string,
  { body = `BODY of ${name}\n`, resources = [], ...header }: Sample = {},
): SkillEntry {
  const filled = { name, description: `About ${name}`, userInvocable: true, modelInvocable: true, ...header };
  return buildEntry(
    filled,
    body,
    resources.map((path) => ({ path, digest: 'a'.repeat(64), bytes: 1 })),
  );
}

export function makeView(skills: Record<string, Sample>, change: Partial<SkillView> = {}): SkillView {
  const entries = Object.entries(skills)
    .map(([name, sample]) => makeEntry(name, sample))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    tenantManifest: null,
    manifest: 'm'.repeat(64),
    entries,
    find: (name) => entries.find((entry) => entry.name === name),
    layerOf: () => 'deployment',
    body: (entry) => Promise.resolve(skills[entry.name]?.body ?? `BODY of ${entry.name}\n`),
    resource: () => Promise.reject(new Error('no resources here')),
    ...change,
  };
}

let messages = 0;

export function makeMessage(text: string | string[], source: MessageSource = { kind: 'user' }): UserMessage {
  const content = [text].flat().map((part) => contentBlock.parse({ type: 'text', text: part }));
  return userMessage.parse({ id: `msg_${++messages}`, role: 'user', source, content });
}

/** A message of this source on the surface. */
function makeEvent(source: MessageSource): LogEventOf<'user/message'> {
  const seq = z.number().brand<'Seq'>().parse(1);
  return {
    type: 'user/message',
    turn: 1,
    step: 1,
    message: makeMessage('…', source),
    surface: 'append',
    seq,
    at: 0,
  };
}

/** What a lane sees: `catalog` is the source of the surface's last catalog message. */
export function makeContext(
  skills: SkillView,
  {
    claimed = [],
    catalog,
    withTool = true,
  }: { claimed?: UserMessage[]; catalog?: MessageSource; withTool?: boolean } = {},
): LaneContext {
  const last = catalog === undefined ? undefined : makeEvent(catalog);
  return {
    session: { id: 'ses', agent: 'main', cwd: '/', metadata: {} },
    call: { provider: 'offline', model: 'demo', options: {} },
    skills,
    signal: new AbortController().signal,
    turn: 1,
    step: 1,
    claimed,
    batch: claimed,
    assembly: {
      sections: [],
      contexts: [],
      tools: withTool ? (skillsPlugin.tools ?? []).map((tool) => ({ owner: 'skills', tool })) : [],
      variables: {},
    },
    lastOfKind: (kind) => (kind === 'skill-catalog' ? last : undefined),
  };
}
