import { describe, expect, it } from 'vitest';
import {
  LANES,
  type Lane,
  type LaneContext,
  type LaneDefinition,
  runLanes,
  runtimeContextLane,
} from '../../durable/context/index.ts';
import { composeLayers, createLayer } from '../../durable/prompt/registry.ts';
import type { MessageId, UserMessage } from '../../durable/transcript/index.ts';

const claimed: UserMessage = {
  id: 'm1' as MessageId,
  role: 'user',
  source: { kind: 'user' },
  content: [{ type: 'text', text: 'hello' }],
};

function contextWith(
  contexts: string[] = [],
  last?: ReturnType<LaneContext['lastOfKind']>,
): Omit<LaneContext, 'batch'> {
  return {
    session: { id: 's', agent: 'a', cwd: '/', metadata: {} },
    call: { provider: 'p', model: 'm', options: {} },
    skills: {
      manifest: null,
      tenantManifest: null,
      entries: [],
      find: () => undefined,
      layerOf: () => 'deployment',
      body: () => Promise.reject(new Error('none')),
      resource: () => Promise.reject(new Error('none')),
    },
    signal: new AbortController().signal,
    turn: 1,
    step: 1,
    claimed: [claimed],
    assembly: {
      sections: [],
      tools: [],
      variables: {},
      contexts: contexts.map((text, order) => ({ name: `c${order}`, owner: 'test', order, text })),
    },
    lastOfKind: () => last,
  };
}

const injecting = (lane: Lane, name: string): LaneDefinition => ({
  lane,
  name,
  run: ({ batch }) => ({
    kind: 'enter',
    inject: [
      {
        source: { kind: 'plugin', name: `${lane}/${name}` },
        content: [{ type: 'text', text: `after ${batch.length}` }],
      },
    ],
  }),
});

const newId = () => 'new' as MessageId;

describe('the lanes', () => {
  it('run in the order of lanes and names, whatever the order of registration, and see the batch so far', async () => {
    const definitions = [
      injecting('skill', 'a'),
      injecting('plugin', 'b'),
      injecting('plugin', 'B'),
      injecting('catalog', 'z'),
      injecting('instructions', 'x'),
    ];
    for (const order of [definitions, definitions.toReversed()]) {
      const plugins = order.map((lane, i) => ({ name: `p${i}`, lanes: [lane] }));
      const outcome = await runLanes(composeLayers([createLayer(plugins)]).lanes, contextWith(), newId);
      if (outcome.kind !== 'enter') throw new Error('rejected');
      const names = outcome.messages.map(({ source }) =>
        source.kind === 'plugin' ? source.name : source.kind,
      );
      expect(names).toEqual(['user', 'instructions/x', 'catalog/z', 'plugin/B', 'plugin/b', 'skill/a']);
      expect(
        outcome.messages.map(({ content }) => content[0]?.type === 'text' && content[0].text).slice(1),
      ).toEqual(['after 1', 'after 2', 'after 3', 'after 4', 'after 5']);
    }
  });

  it('stop at the first that rejects, naming its owner', async () => {
    const reject: LaneDefinition = {
      lane: 'plugin',
      name: 'no',
      run: () => ({ kind: 'reject', message: 'not this' }),
    };
    const lanes = [
      { owner: 'guard', definition: reject },
      {
        owner: 'other',
        definition: { ...injecting('skill', 'a'), run: () => Promise.reject(new Error('never run')) },
      },
    ];
    expect(await runLanes(lanes, contextWith(), newId)).toEqual({
      kind: 'reject',
      by: 'guard',
      message: 'not this',
    });
  });

  it('end with the skills, always', () => {
    expect(LANES.at(-1)).toBe('skill');
  });
});

describe('the runtime context', () => {
  it('is one message, sent when it is new or changed and not again', async () => {
    const first = await runtimeContextLane.run({ ...contextWith(['a', 'b']), batch: [] });
    if (first.kind !== 'enter') throw new Error('rejected');
    const [injection] = first.inject;
    expect(injection?.content).toEqual([
      { type: 'text', text: '<runtime-context>\na\n\nb\n</runtime-context>' },
    ]);
    if (!injection) throw new Error('nothing injected');
    const message: UserMessage = { id: newId(), role: 'user', ...injection };
    const event = {
      type: 'user/message' as const,
      turn: 1,
      message,
      surface: 'append' as const,
      seq: 1 as never,
      at: 0,
    };
    const again = (contexts: string[]) =>
      runtimeContextLane.run({ ...contextWith(contexts, event), batch: [] });
    expect(await again(['a', 'b'])).toEqual({ kind: 'enter', inject: [] });
    expect(await again(['a', 'changed'])).toMatchObject({
      inject: [{ source: { kind: 'runtime-context' } }],
    });
    expect(await runtimeContextLane.run({ ...contextWith([]), batch: [] })).toEqual({
      kind: 'enter',
      inject: [],
    });
  });
});
