/** Answers that several routes give. */
import { sessionView } from '../../durable/rpc.ts';

export const answersSession = {
  description: 'The session',
  content: { 'application/json': { name: 'Session', schema: sessionView } },
};
