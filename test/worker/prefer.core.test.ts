import { expect, it } from 'vitest';
import { parseWait } from '../../worker/http/prefer.ts';

it.each([
  ['wait=10', 10],
  ['respond-async, wait=10', 10],
  ['Wait = 10', 10],
  ['wait="5"', 5],
  ['wait=10; strict', 10],
  ['wait=3, wait=9', 3],
  ['wait=301', 300],
  ['wait=999999999', 300],
  ['wait=0', 0],
  ['wait', null],
  ['wait=soon', null],
  ['wait=-1', null],
  ['wait=1.5', null],
  ['waiting=3', null],
  ['respond-async', null],
  ['', null],
  [undefined, null],
])('the preference %j waits %j seconds', (header, seconds) => {
  expect(parseWait(header)).toBe(seconds);
});
