/** The lane `runtime-context`: the snapshot of what plugins know about now, sent again only when it changed. */
import { sha256Hex } from '../storage/index.ts';
import type { LaneDefinition } from './types.ts';

export const runtimeContextLane: LaneDefinition = {
  lane: 'runtime-context',
  name: 'snapshot',
  run({ assembly, lastOfKind }) {
    const text = assembly.contexts.map((context) => context.text).join('\n\n');
    if (text === '') return { kind: 'enter', inject: [] };
    const digest = sha256Hex(text);
    const last = lastOfKind('runtime-context')?.message.source;
    if (last?.kind === 'runtime-context' && last.digest === digest) return { kind: 'enter', inject: [] };
    return {
      kind: 'enter',
      inject: [
        {
          source: { kind: 'runtime-context', name: 'snapshot', digest },
          content: [{ type: 'text', text: `<runtime-context>\n${text}\n</runtime-context>` }],
        },
      ],
    };
  },
};
