/** A session whose tools are those of a server is replayed without the server. */
import { DatabaseSync } from 'node:sqlite';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { resolveDeployment } from '../../durable/composition.ts';
import { admitMessage } from '../../durable/inbox/index.ts';
import { offline } from '../../durable/models/index.ts';
import { type DeploymentDefinition, defineDeployment } from '../../durable/plugins.ts';
import { waitWithTimer } from '../../durable/time-limit.ts';
import { mcpTools } from '../../durable/tools/mcp/index.ts';
import { exportLog, type MessageId } from '../../durable/transcript/index.ts';
import { openLocalSession } from '../../scripts/local/local-session.ts';
import { readRecording } from '../../scripts/replay/recorded-session.ts';
import { replaySession } from '../../scripts/replay/replay-session.ts';
import { startToolServer } from '../support/mcp-server.ts';
import { NO_SKILLS } from '../tools/no-skills.ts';

const CREATE = {
  tenant: 't',
  directory: 'd',
  id: 's',
  agent: 'one',
  model: null,
  cwd: '/workspace',
  metadata: {},
  persona: null,
  tools: null,
  idempotency: null,
};
const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};

/** Says these things, one a request: calls as `[tool, arguments]`, or a text. */
function createAdapter(answers: (string | [string, object][])[]): LanguageModelV4 {
  let next = 0;
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: 'instant',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('only streams')),
    async doStream() {
      const answer = answers[next++] ?? 'nothing more';
      const parts: LanguageModelV4StreamPart[] =
        typeof answer === 'string'
          ? [
              { type: 'text-start', id: 't' },
              { type: 'text-delta', id: 't', delta: answer },
              { type: 'text-end', id: 't' },
            ]
          : answer.map(([toolName, input], i) => ({
              type: 'tool-call',
              toolCallId: `${next}-${i}`,
              toolName,
              input: JSON.stringify(input),
            }));
      const unified = typeof answer === 'string' ? 'stop' : 'tool-calls';
      const finish: LanguageModelV4StreamPart = {
        type: 'finish',
        finishReason: { unified, raw: unified },
        usage: USAGE,
      };
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of [...parts, finish]) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

async function record(definition: DeploymentDefinition, answers: Parameters<typeof createAdapter>[0]) {
  const adapter = createAdapter(answers);
  const { parts, driver } = openLocalSession(new DatabaseSync(':memory:'), CREATE, {
    deployment: resolveDeployment(definition),
    models: () => ({
      provider: 'offline',
      model: 'instant',
      traits: { metaKey: 'offline' },
      accepts: () => true,
      redact: (text) => text,
      adapter,
    }),
    skills: { view: async () => NO_SKILLS },
    now: Date.now,
    wait: waitWithTimer,
    random: () => 0,
    newMessageId: () => 'injected' as MessageId,
    faults: { hit: () => undefined },
    publish: () => undefined,
    watchdog: { arm: () => undefined, disarm: () => undefined, armAt: () => undefined },
    env: {},
    reportTurn: () => undefined,
    reportFailure: (error) => {
      throw error;
    },
  });
  admitMessage(
    { ...parts, session: 's', accepts: () => true, model: '', arm: () => undefined },
    {
      id: 'm1',
      delivery: 'followup',
      source: { kind: 'user' },
      content: [{ type: 'text', text: 'go' }],
      idempotency: null,
    },
  );
  await driver.wake();
  return new Response(exportLog(parts.log, parts.blobs.get)).text();
}

it('comes out the same, with calls beside each other, errors and a list that changed, and asks nobody', async () => {
  const server = await startToolServer();
  const definition = defineDeployment({
    agents: [{ name: 'one', model: 'offline/instant', persona: 'Persona.', tools: 'all' }],
    plugins: [
      mcpTools({ servers: [{ name: 'lo', url: `${server.url}/stateless` }], allowHosts: ['127.0.0.1'] }),
    ],
    providers: [offline()],
  });
  const text = await record(definition, [
    [
      ['mcp__lo__add', { a: 1, b: 2 }],
      ['mcp__lo__add', { a: 3, b: 4 }],
      ['mcp__lo__add', { a: 1 }],
      ['mcp__lo__refuse', {}],
      ['mcp__lo__grow', {}],
    ],
    [['mcp__lo__grown', {}]],
    'done',
  ]);
  await server.close();
  const recording = readRecording(text);
  const results = recording.events.flatMap((event) =>
    event.type === 'tool/result' ? [event.error ?? 'fine'] : [],
  );
  expect(results).toEqual(['fine', 'fine', 'invalid_arguments', 'mcp_error', 'fine', 'fine']);
  expect(recording.events.filter(({ type }) => type === 'request/header')).toHaveLength(2);
  const asked = server.seen.length;
  const { differences, notes } = await replaySession(recording, 's', definition, NO_SKILLS);
  expect(differences).toEqual([]);
  expect(notes).toEqual([]);
  expect(server.seen).toHaveLength(asked);
});
