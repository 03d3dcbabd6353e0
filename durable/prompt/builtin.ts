/** What the harness itself owns in a prompt: who the agent runs on, and the facts of the loop. */
import type { Plugin } from '../plugins.ts';

export const IDENTITY_ORDER = -100;
export const PERSONA_ORDER = 0;
export const PERSONA_SECTION = 'deployment:persona';

/** `harness:identity`: what runs the agent. What it is for is the persona's to say. */
export const harness: Plugin = {
  name: 'harness',
  sections: [
    {
      name: 'harness:identity',
      order: IDENTITY_ORDER,
      text:
        'You run inside Perch, a service that keeps this conversation and carries out your tool calls. ' +
        'The model behind you is {{model}} of {{provider}}. ' +
        'Messages that begin with a tag in angle brackets may come from the service and not from a person.',
    },
  ],
};

/** The variables that the loop provides to every section. */
export const loopFacts: Plugin = {
  name: 'loop',
  variables: [
    { name: 'model', provide: ({ call }) => call.model },
    { name: 'provider', provide: ({ call }) => call.provider },
    { name: 'cwd', provide: ({ session }) => session.cwd },
  ],
};
