import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { directoryName, objectName, retriedMessageId } from '../../worker/auth/names.ts';

const SECRET = 'a secret for the vectors of this test only';

describe('names of objects', () => {
  it('are an HMAC-SHA-256 over the label and the parts, each behind its length', () => {
    const part = (text: string): string => `\0\0\0${String.fromCharCode(text.length)}${text}`;
    const mac = createHmac('sha256', SECRET).update(part('perch/session') + part('acme') + part('ses_1'));
    expect(objectName(SECRET, 'acme', 'ses_1')).toBe(mac.digest('hex'));
  });

  it('never change: a session would be lost with its name', () => {
    expect(objectName(SECRET, 'acme', 'ses_1')).toBe(
      '13f67d60c7188c9bfb9ddea83a985c6c43e716f946e3fd6295fba0a6b118ca54',
    );
    expect(directoryName(SECRET, 'acme')).toBe(
      '36cb1106008a901df6434adc7a37e1015124304d782fe5cabac8f33aeb9908e7',
    );
    expect(retriedMessageId(SECRET, 'acme', 'ses_1', 'k')).toBe('msg__IVsYMrA6rabMmoGyUTarw');
  });

  it('differ where a boundary between tenant and session moves', () => {
    expect(objectName(SECRET, 'ab', 'c')).not.toBe(objectName(SECRET, 'a', 'bc'));
    expect(objectName(SECRET, '', 'abc')).not.toBe(objectName(SECRET, 'abc', ''));
    expect(objectName(SECRET, 'é', 'x')).not.toBe(objectName(SECRET, 'e\u0301', 'x'));
  });

  it('depend on the secret, and on what is named', () => {
    expect(objectName(SECRET, 'a', 'b')).not.toBe(objectName(`${SECRET}!`, 'a', 'b'));
    expect(directoryName(SECRET, 'a')).not.toBe(objectName(SECRET, 'a', ''));
  });

  it('are the same message for every retry under one key, and another for another', () => {
    const id = retriedMessageId(SECRET, 'acme', 'ses_1', 'key-1');
    expect(id).toMatch(/^msg_[A-Za-z0-9_-]{22}$/);
    expect(retriedMessageId(SECRET, 'acme', 'ses_1', 'key-1')).toBe(id);
    expect(retriedMessageId(SECRET, 'acme', 'ses_1', 'key-2')).not.toBe(id);
    expect(retriedMessageId(SECRET, 'acme', 'ses_2', 'key-1')).not.toBe(id);
  });
});
