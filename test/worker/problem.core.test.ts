import { describe, expect, it } from 'vitest';
import {
  invalidRequest,
  methodNotAllowed,
  missingScope,
  toErrorData,
  unauthenticated,
  unavailable,
} from '../../durable/errors.ts';
import { answerProblem, buildProblem } from '../../worker/http/problem.ts';
import { scrubSecrets } from '../../worker/http/scrub.ts';

describe('problem documents', () => {
  it('have a stable type from the code, and the facts as members', () => {
    const errors = [{ path: 'a.0', message: 'wrong' }];
    expect(buildProblem(invalidRequest('a.0: wrong', { errors }).data)).toEqual({
      type: 'urn:perch:problem:invalid_request',
      title: 'The request is not valid',
      status: 400,
      detail: 'a.0: wrong',
      code: 'invalid_request',
      errors,
    });
  });

  it('let no fact take the place of a member of the standard', () => {
    expect(buildProblem(invalidRequest('no', { status: 200, type: 'x', code: 'y' }).data)).toMatchObject({
      status: 400,
      type: 'urn:perch:problem:invalid_request',
      code: 'invalid_request',
    });
  });

  it('are sent as application/problem+json with what HTTP asks of the status', () => {
    expect(answerProblem(unauthenticated('x').data).headers.get('www-authenticate')).toBe(
      'Bearer realm="perch"',
    );
    expect(answerProblem(missingScope('x', { scope: 'a:b' }).data).headers.get('www-authenticate')).toContain(
      'scope="a:b"',
    );
    expect(answerProblem(methodNotAllowed('x', { allow: ['GET', 'HEAD'] }).data).headers.get('allow')).toBe(
      'GET, HEAD',
    );
    expect(answerProblem(unavailable('x').data).headers.get('retry-after')).toBe('1');
    expect(answerProblem(unavailable('x').data).headers.get('content-type')).toBe('application/problem+json');
  });

  it('say nothing of what an unexpected error says', () => {
    const sent = JSON.stringify(buildProblem(toErrorData(new Error('the password is hunter2'))));
    expect(sent).not.toContain('hunter2');
  });
});

it('takes what looks like a credential out of a line of output', () => {
  const key = `perch_${'A'.repeat(43)}`;
  const line = `failed with Bearer abc.def, ${key} and sk-0123456789abcdef, said perch`;
  expect(scrubSecrets(line)).toBe('failed with [secret], [secret] and [secret], said perch');
});
