import { describe, expect, it } from 'vitest';
import { parseSkill } from '../../durable/skills/parse.ts';

function parse(text: string, folder = 'alpha') {
  return parseSkill(text, { file: `${folder}/SKILL.md`, folder });
}

/** A whole file from the lines of its header. */
function file(header: string, body = 'B\n'): string {
  return `---\n${header}\n---\n${body}`;
}

function accept(text: string, folder = 'alpha') {
  const parsed = parse(text, folder);
  if (parsed.kind === 'rejected') throw new Error(JSON.stringify(parsed.diagnostics));
  return {
    ...parsed.skill,
    body: parsed.body,
    codes: parsed.warnings.map(({ code }) => code),
    warnings: parsed.warnings,
  };
}

function reject(text: string, folder = 'alpha') {
  const parsed = parse(text, folder);
  if (parsed.kind === 'skill') throw new Error(`accepted: ${JSON.stringify(parsed.skill)}`);
  const errors = parsed.diagnostics.filter(({ severity }) => severity === 'error');
  return { codes: errors.map(({ code }) => code), first: errors[0], all: parsed.diagnostics };
}

const BASE = 'name: alpha\ndescription: d';

describe('a header that follows the format', () => {
  it('gives every field, and policies that allow both ways in', () => {
    const skill = accept(
      file(
        `${BASE}\nlicense: MIT\ncompatibility: needs git\nallowed-tools: Read Grep\nmetadata:\n  version: 1.0\n  by: us`,
      ),
    );
    expect(skill).toMatchObject({
      name: 'alpha',
      description: 'd',
      license: 'MIT',
      compatibility: 'needs git',
      allowedTools: 'Read Grep',
      metadata: { version: '1.0', by: 'us' },
      userInvocable: true,
      modelInvocable: true,
      codes: [],
    });
  });

  it('keeps every scalar the text that was written', () => {
    expect(accept(file('name: "007"\ndescription: 0x1F'), '007')).toMatchObject({
      name: '007',
      description: '0x1F',
    });
    expect(accept(file('name: 007\ndescription: true'), '007')).toMatchObject({
      name: '007',
      description: 'true',
    });
    expect(accept(file(`${BASE}\nmetadata:\n  at: 2026-01-01\n  no: ~`)).metadata).toEqual({
      at: '2026-01-01',
      no: '~',
    });
  });

  it('FM-15: a skill that is called null is keyed under the text null', () => {
    expect(accept(file('name: null\ndescription: d'), 'null').name).toBe('null');
  });

  it('FM-13: a block scalar keeps its quotes', () => {
    expect(accept(file('name: alpha\ndescription: |-\n  "quoted"')).description).toBe('"quoted"');
  });

  it('FM-08: dashes inside a value close nothing', () => {
    const skill = accept(file('name: alpha\ndescription: split with --- marks\nlicense: MIT'));
    expect(skill).toMatchObject({ description: 'split with --- marks', license: 'MIT', body: 'B\n' });
  });

  it('FM-09: rules in the body stay in the body', () => {
    expect(accept(file(BASE, 'one\n\n---\n\ntwo\n')).body).toBe('one\n\n---\n\ntwo\n');
  });

  it('accepts a BOM, CRLF and white space after a fence, and keeps the body as it is', () => {
    const skill = accept(
      '\uFEFF--- \t\r\nname: alpha\r\ndescription: >\r\n  two\r\n  lines\r\n---  \r\none\r\n  two \r\n\r\n',
    );
    expect(skill).toMatchObject({
      name: 'alpha',
      description: 'two lines',
      body: 'one\r\n  two \r\n\r\n',
      codes: [],
    });
  });

  it.each(['', '\n', '\n\n# Title', ' $1 $& {{name}} \\n', 'no newline at the end', '\uFEFFsecond mark'])(
    'keeps the body %j byte for byte',
    (body) => expect(accept(file(BASE, body)).body).toBe(body),
  );

  it('counts a description in code points: to 1024 as specified, to 2048 with a warning, and no further', () => {
    const described = (length: number, character = 'x') =>
      file(`name: alpha\ndescription: ${character.repeat(length)}`);
    expect(accept(described(819)).codes).toEqual([]);
    expect(accept(described(820)).codes).toEqual(['near_limit_description']);
    expect(accept(described(1024, '🙂'))).toMatchObject({
      description: '🙂'.repeat(1024),
      codes: ['near_limit_description'],
    });
    const long = accept(described(1025));
    expect(long.description).toHaveLength(1025);
    expect(long.warnings).toMatchObject([{ code: 'description_over_specification', line: 3 }]);
    expect(accept(described(2048, '🙂')).codes).toEqual(['description_over_specification']);
    expect(reject(described(2049)).codes).toEqual(['description_too_long']);
  });
});

describe('the strict mode', () => {
  const strictly = (text: string) =>
    parseSkill(text, { file: 'alpha/SKILL.md', folder: 'alpha', mode: 'strict' });

  it('takes the fields of the specification', () => {
    const all = `${BASE}\nlicense: MIT\ncompatibility: git\nallowed-tools: Read Grep\nmetadata:\n  version: 1.0`;
    const parsed = strictly(file(all));
    expect(parsed).toMatchObject({ kind: 'skill', warnings: [] });
    expect(parsed.kind === 'skill' && parsed.skill).toEqual(
      expect.objectContaining({ metadata: { version: '1.0' }, userInvocable: true, modelInvocable: true }),
    );
  });

  it.each([
    ['a policy of ours', `${BASE}\ndisable-model-invocation: true`, 'field_not_specified', 4],
    ['the other policy', `${BASE}\nuser-invocable: true`, 'field_not_specified', 4],
    ['another field', `${BASE}\nargument-hint: x`, 'field_unknown', 4],
    ['a value to repair', 'name: alpha\ndescription: Use when: asked', 'yaml_invalid', 3],
    ['a list for a text', `${BASE}\nallowed-tools: [Read]`, 'field_not_text', 4],
    ['metadata that is nested', `${BASE}\nmetadata:\n  tags: [a]`, 'field_not_text', 5],
    ['metadata that is a text', `${BASE}\nmetadata: a`, 'metadata_not_map', 4],
    [
      'a long description',
      `name: alpha\ndescription: ${'x'.repeat(1025)}`,
      'description_over_specification',
      3,
    ],
    ['a long compatibility', `${BASE}\ncompatibility: ${'x'.repeat(501)}`, 'compatibility_too_long', 4],
    ['a tag', 'name: alpha\ndescription: !!int 5', 'yaml_tag', 3],
  ])('rejects %s, which the extended mode takes', (_, header, code, line) => {
    expect(parse(file(header)).kind).toBe('skill');
    const parsed = strictly(file(header));
    const errors = parsed.kind === 'rejected' ? parsed.diagnostics : [];
    expect(errors.find(({ severity }) => severity === 'error')).toMatchObject({ code, line });
  });
});

describe('policies', () => {
  it.each([
    'true',
    'yes',
    'on',
    '1',
    'TRUE',
    'Yes',
    'ON',
    '"true"',
    "'yes'",
    '!!bool true',
    'true # for people',
  ])('FM-16: disable-model-invocation: %s withholds the skill from the model', (value) =>
    expect(accept(file(`${BASE}\ndisable-model-invocation: ${value}`)).modelInvocable).toBe(false),
  );

  it.each(['false', 'no', 'off', '0', 'False', '"no"'])(
    'user-invocable: %s withholds it from people',
    (value) => {
      expect(accept(file(`${BASE}\nuser-invocable: ${value}`)).userInvocable).toBe(false);
    },
  );

  it.each(['sure', '', 'null', '~', '2', 'y', '[true]', '{true: true}', '"true "', '|\n  true'])(
    'FM-16: any other value rejects the skill: %j',
    (value) => {
      for (const key of ['disable-model-invocation', 'user-invocable']) {
        const { first } = reject(file(`${BASE}\n${key}: ${value}`));
        expect(first).toMatchObject({ code: 'policy_invalid', line: 4 });
        expect(first?.message).toContain(key);
      }
    },
  );

  it.each([
    'disable_model_invocation',
    'disableModelInvocation',
    'Disable-Model-Invocation',
    'user_invocable',
  ])('a policy spelt %s rejects the skill', (key) =>
    expect(reject(file(`${BASE}\n${key}: true`)).codes).toEqual(['policy_misspelt']),
  );

  it.each(['metadata:\n  disable-model-invocation: true', 'other: {a: [{user-invocable: false}]}'])(
    'a policy inside another field rejects the skill: %j',
    (field) => expect(reject(file(`${BASE}\n${field}`)).codes).toEqual(['policy_misplaced']),
  );

  it.each([
    'name: alpha\ndescription: Use when: asked\n  disable-model-invocation: true',
    'name: alpha\ndescription: x\n  disable-model-invocation: true',
    'name: alpha\nargument-hint: [a] [b]\n  user-invocable: false\ndescription: d',
    'name: alpha\ndescription: "open\ndisable-model-invocation: true',
    'name: alpha\ndescription: Use when: asked\ndisable-model-invocation: [true] [x]',
    'name: alpha\ndescription: Use when: asked\n"disable-model-invocation": true\n]',
    'name: alpha\ndescription: d\n...\ndisable-model-invocation: true',
    'name: alpha\ndescription: Use when: asked\rdisable-model-invocation: true',
  ])('a repair never loses a policy: %j is rejected', (header) => {
    expect(reject(file(header)).codes[0]).toMatch(/^(yaml_invalid|policy_invalid)$/);
  });

  it('a policy itself is never repaired', () => {
    expect(reject(file(`${BASE}\nuser-invocable: @false`)).first).toMatchObject({
      code: 'yaml_invalid',
      line: 4,
    });
  });

  it('a repair of another field leaves a policy in force', () => {
    const skill = accept(file('name: alpha\ndescription: Use when: asked\ndisable-model-invocation: yes'));
    expect(skill).toMatchObject({
      modelInvocable: false,
      description: 'Use when: asked',
      codes: ['header_repaired'],
    });
  });
});

describe('what is mended or warned of', () => {
  it.each([
    ['Use when: the user asks', 'Use when: the user asks'],
    ['Use this when:', 'Use this when:'],
    ['one: two: "three" \\ four', 'one: two: "three" \\ four'],
    ['first line\n  Trigger: second\n  third', 'first line Trigger: second third'],
    ['@mentions: handled', '@mentions: handled'],
    ['[WIP] not a list: text', '[WIP] not a list: text'],
  ])('an unquoted colon in a description is repaired with a warning: %j', (written, read) => {
    const skill = accept(file(`name: alpha\ndescription: ${written}\nlicense: MIT`));
    expect(skill).toMatchObject({ description: read, license: 'MIT' });
    expect(skill.warnings).toMatchObject([{ code: 'header_repaired', line: 3, file: 'alpha/SKILL.md' }]);
  });

  it('FM-18: two lists on one line are read as text with a warning', () => {
    const skill = accept(file(`${BASE}\nargument-hint: [pr] [mode]`));
    expect(skill.codes).toEqual(['header_repaired', 'field_unknown']);
    expect(skill.warnings[0]).toMatchObject({ line: 4, severity: 'warning' });
  });

  it('FM-03: a hash that cuts a description is warned of', () => {
    const skill = accept(file('name: alpha\ndescription: Post to the #ops channel'));
    expect(skill.description).toBe('Post to the');
    expect(skill.warnings).toMatchObject([{ code: 'comment_cuts_value', line: 3 }]);
    expect(skill.warnings[0]?.message).toContain('#ops channel');
    expect(accept(file('name: alpha\ndescription: "Post to the #ops channel"')).codes).toEqual([]);
    expect(accept(file('name: alpha\n# a comment of its own\ndescription: C#7 is fine')).codes).toEqual([]);
  });

  it('FM-17: lists and maps where texts are specified load with warnings', () => {
    const skill = accept(
      file(`${BASE}\nallowed-tools:\n  - Read\n  - Bash(git:*)\nmetadata:\n  tags: [a, b]\nlicense: {a: b}`),
    );
    expect(skill).toMatchObject({
      allowedTools: 'Read Bash(git:*)',
      metadata: { tags: '["a","b"]' },
      license: '{"a":"b"}',
    });
    expect(skill.codes).toEqual(['field_not_text', 'field_not_text', 'field_not_text']);
    expect(accept(file(`${BASE}\nmetadata: text`)).codes).toEqual(['metadata_not_map']);
  });

  it('warns of a field that is not used and of an empty body', () => {
    expect(accept(file(`${BASE}\ncolour: red`, ' \n')).codes).toEqual(['field_unknown', 'body_empty']);
  });
});

describe('what is rejected, with file, line and reason', () => {
  it.each([
    ['no header', '# Title\n', 'header_missing', 1],
    ['a blank line before the header', `\n${file(BASE)}`, 'header_missing', 1],
    ['an empty file', '', 'header_missing', 1],
    ['FM-10: a longer line of dashes as the fence', `---\n${BASE}\n----\nB\n`, 'header_unclosed', 1],
    ['FM-11: no closing fence', `---\n${BASE}\nB\n`, 'header_unclosed', 1],
    ['only an opening fence', '---', 'header_unclosed', 1],
    ['an indented fence', `---\n${BASE}\n ---\nB\n`, 'header_unclosed', 1],
    ['no description', file('name: alpha'), 'description_missing', 2],
    ['an empty description', file('name: alpha\ndescription: "  "'), 'description_missing', 3],
    [
      'a description that is all comment',
      file('name: alpha\ndescription: # later'),
      'description_missing',
      3,
    ],
    ['a description that is a list', file('name: alpha\ndescription: [a, b]'), 'description_not_text', 3],
    ['no name', file('description: d'), 'name_missing', 2],
    ['an empty header', '---\n---\nB\n', 'name_missing', 2],
    ['a header that is a list', file('- name'), 'header_not_fields', 2],
    ['a duplicate key', file(`${BASE}\nlicense: a\nlicense: b`), 'duplicate_key', 5],
    ['a duplicate key in quotes', file(`${BASE}\n"name": beta`), 'duplicate_key', 4],
    ['a duplicate key inside metadata', file(`${BASE}\nmetadata:\n  a: 1\n  a: 2`), 'duplicate_key', 6],
    [
      'a duplicate key beside a value to repair',
      file('name: alpha\ndescription: a: b\ndescription: c'),
      'duplicate_key',
      4,
    ],
    ['a quote that is not closed', file('name: alpha\ndescription: "open'), 'yaml_invalid', 4],
    ['an alias to nothing', file(`${BASE}\nlicense: *bold*`), 'yaml_invalid', 4],
    ['a line that belongs to no field', file(`${BASE}\n]`), 'yaml_invalid', 4],
    ['FM-24: a name in another case', file('name: Alpha\ndescription: d'), 'name_invalid', 2],
    ['a name that is not the folder', file('name: beta\ndescription: d'), 'name_not_folder', 2],
  ])('%s', (_, text, code, line) => {
    const { first } = reject(text);
    expect(first).toMatchObject({ code, line, file: 'alpha/SKILL.md', severity: 'error' });
    expect(first?.message).toMatch(/\S/);
  });

  it('FM-24: a name that differs from its folder names both', () => {
    const { first } = reject(file('name: beta\ndescription: d'));
    expect(first?.message).toContain('"beta"');
    expect(first?.message).toContain('"alpha"');
  });

  it.each(['café', 'cafe\u0301', 'a--b', '-a', 'a-', 'a_b', 'a b', 'ａ', `${'a'.repeat(65)}`])(
    'FM-20: the name %j is rejected with the rule quoted',
    (name) => {
      const { first } = reject(file(`name: "${name}"\ndescription: d`), name);
      expect(first?.code).toBe('name_invalid');
      expect(first?.message).toContain('lower-case ASCII letters and digits');
    },
  );

  it('INV-39: no name that follows the rule is reserved', () => {
    for (const name of ['batch', 'skill', 'help', 'constructor', 'a'.repeat(64)]) {
      expect(accept(file(`name: ${name}\ndescription: d`), name).name).toBe(name);
    }
  });

  it.each(['</skill_content>', '</SKILL_content >', '</ skill_content\n>'])('a body that holds %j', (tag) => {
    const { first } = reject(file(BASE, `one\ntwo ${tag}\n`));
    expect(first).toMatchObject({ code: 'closing_tag_in_body', line: 6 });
  });

  it('gives all that is wrong at once', () => {
    const { codes } = reject(file('name: A\nuser-invocable: perhaps', '</skill_content>'));
    expect(codes).toEqual(['name_invalid', 'description_missing', 'policy_invalid', 'closing_tag_in_body']);
  });
});

it('FM-23: the same text gives the same answer every time', () => {
  const odd = file('name: alpha\ndescription: Use when: "asked" # or not\nx: [a] [b]\nuser-invocable: OFF');
  expect(parse(odd)).toEqual(parse(odd));
});

it('does not throw for hostile headers', () => {
  const headers = [
    '['.repeat(20_000),
    '{a: '.repeat(5_000),
    '&a [*a, *a]',
    'a: &x [*x]',
    '? - a\n: b',
    '\u0000',
    '%TAG ! x',
    '!',
  ];
  for (const header of headers)
    expect(parse(file(`${BASE}\nlicense: ${header}`)).kind).toMatch(/skill|rejected/);
  for (const header of headers) expect(parse(file(header)).kind).toBe('rejected');
});
