import type { Frame } from '../../durable/rpc.ts';

export type EventFrame = Extract<Frame, { frame: 'event' }>;

/**
 * A socket's message as a frame. Throws where it is none. Written by hand: it runs for every frame of every stream, and
 * a schema library cannot compile its checks in workerd, which forbids code generation.
 */
export function parseFrame(message: string): Frame {
  const value: unknown = JSON.parse(message);
  if (isFrame(value)) return value;
  throw new Error('a message that is no frame');
}

function isFrame(value: unknown): value is Frame {
  if (typeof value !== 'object' || value === null || !('frame' in value)) return false;
  switch (value.frame) {
    case 'event':
      return has(value, 'seq', 'number') && has(value, 'type', 'string') && has(value, 'data', 'string');
    case 'delta':
      return has(value, 'turn', 'number') && has(value, 'offset', 'number') && has(value, 'text', 'string');
    case 'restart':
      return has(value, 'turn', 'number') && has(value, 'step', 'number') && has(value, 'attempt', 'number');
    case 'ready':
      return has(value, 'last_seq', 'number');
    case 'dropped':
      return has(value, 'reason', 'string') && has(value, 'last_seq', 'number');
    case 'probe':
      return has(value, 'n', 'number');
    case 'reply':
    case 'pong':
      return true;
    default:
      return false;
  }
}

function has(value: object, key: string, type: 'number' | 'string'): boolean {
  return typeof Reflect.get(value, key) === type;
}
