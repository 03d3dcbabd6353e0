import { describe, expect, it } from 'vitest';
import { diffHeaders } from '../../durable/prompt/diff.ts';
import type { RequestHeader } from '../../durable/transcript/events.ts';

const section = (name: string, digest: string, order = 0) => ({
  name,
  owner: 'o',
  order,
  chars: 1,
  digest,
  tokens: 1,
});
const base: RequestHeader = {
  agent: 'a',
  provider: 'p',
  model: 'm',
  system: { digest: 's', tokens: 1 },
  tools: { digest: 't', tokens: 1, names: [{ name: 'echo', owner: 'facts', tokens: 5 }] },
  config: {},
  sections: [section('one', '1'), section('two', '2')],
  variables: [{ name: 'model', owner: 'loop', value: 'm' }],
  skills: { manifest: 'x' },
};

describe('what changed between two requests', () => {
  it('is nothing between equal headers', () => {
    expect(diffHeaders(base, structuredClone(base))).toEqual([]);
  });

  it('names each part with its owner: changed, added, removed, moved', () => {
    const after: RequestHeader = {
      ...base,
      model: 'n',
      sections: [section('one', '1b'), section('three', '3')],
      variables: [{ name: 'model', owner: 'late', value: 'm' }],
      skills: { manifest: null, fault: { code: 'skill_bundle_missing', message: 'gone' } },
    };
    expect(diffHeaders(base, after).map(({ part, name, kind }) => [part, name, kind])).toEqual([
      ['model', null, 'changed'],
      ['section', 'one', 'changed'],
      ['section', 'three', 'added'],
      ['section', 'two', 'removed'],
      ['variable', 'model', 'changed'],
      ['skills', null, 'changed'],
    ]);
    const moved = diffHeaders(base, { ...base, sections: [section('one', '1', 7), section('two', '2')] });
    expect(moved).toMatchObject([{ part: 'section', name: 'one', kind: 'moved', before: 0, after: 7 }]);
  });

  it('sees a tool whose description changed though its name did not', () => {
    const after = { ...base, tools: { ...base.tools, digest: 't2' } };
    expect(diffHeaders(base, after)).toMatchObject([{ part: 'tools', before: 't', after: 't2' }]);
  });
});
