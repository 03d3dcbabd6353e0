import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findObstacles } from '../../scripts/deploy.ts';
import { parseStartArguments } from '../../scripts/start/arguments.ts';
import { ensureDevVars } from '../../scripts/start/dev-vars.ts';
import { findFreePort } from '../../scripts/start/free-port.ts';
import { findRunning, noteRunning } from '../../scripts/start/running.ts';
import { formatWelcome } from '../../scripts/start/welcome.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perch-start-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the arguments of npm start', () => {
  it('serve by default, on a port that may be chosen', () => {
    expect(parseStartArguments([])).toEqual({ kind: 'serve', port: null });
    expect(parseStartArguments(['--port', '9000'])).toEqual({ kind: 'serve', port: 9000 });
  });

  it('run one prompt with --once, with an agent and a model of its own', () => {
    const args = ['--once', '/release-notes for v2', '--agent', 'editor', '--model', 'offline/demo'];
    expect(parseStartArguments(args)).toEqual({
      kind: 'once',
      prompt: '/release-notes for v2',
      agent: 'editor',
      model: 'offline/demo',
      port: null,
    });
  });

  it.each([
    [['--once']],
    [['--once', ' ']],
    [['--port', 'x']],
    [['--port', '0']],
    [['--agent', 'editor']],
    [['--onec', 'x']],
    [['stray']],
  ])('are refused where they make no sense: %j', (args) => {
    expect(parseStartArguments(args)).toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/\S/),
    });
  });
});

describe('the secrets of local development', () => {
  it('are made once, for their owner alone, and then left as they are', async () => {
    const file = join(folder, '.dev.vars');
    expect(await ensureDevVars(file)).toBe(true);
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^OBJECT_NAME_SECRET=[0-9a-f]{64}\n$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await ensureDevVars(file)).toBe(false);
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it('are added to a file that holds others', async () => {
    const file = join(folder, '.dev.vars');
    await writeFile(file, '# OBJECT_NAME_SECRET comes from npm start\nOTHER=1');
    await ensureDevVars(file);
    expect(await readFile(file, 'utf8')).toMatch(/^# .*\nOTHER=1\nOBJECT_NAME_SECRET=[0-9a-f]{64}\n$/);
  });
});

describe('the port', () => {
  it('is the next one where the wanted one is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const taken = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await findFreePort(taken)).toBeGreaterThan(taken);
    await new Promise((resolve) => server.close(resolve));
    expect(await findFreePort(taken)).toBe(taken);
  });
});

describe('the note of the running service', () => {
  it('counts while the service answers, and not after', async () => {
    const file = join(folder, 'notes', 'running.json');
    const server = createHttpServer((_, response) => response.end('{"status":"ok"}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    expect(await findRunning(file)).toBeNull();
    await noteRunning(file, { url, pid: 1 });
    expect(await findRunning(file)).toEqual({ url, pid: 1 });
    await new Promise((resolve) => server.close(resolve));
    expect(await findRunning(file)).toBeNull();
  });

  it('counts for nothing where it cannot be read', async () => {
    const file = join(folder, 'running.json');
    await writeFile(file, '{"url":');
    expect(await findRunning(file)).toBeNull();
  });
});

describe('the lines to paste', () => {
  it('carry the address and the key, and hold JSON', () => {
    const text = formatWelcome('http://127.0.0.1:8787', 'perch_key');
    expect(text.match(/^curl /gm)).toHaveLength(2);
    expect(text).toContain("-H 'Authorization: Bearer perch_key'");
    for (const [, json] of text.matchAll(/-d '([^']*)'/g)) expect(() => JSON.parse(json ?? '')).not.toThrow();
  });
});

describe('a deployment', () => {
  const id = 'a'.repeat(32);

  it('is refused while ids are those of local development, or a secret is not set', () => {
    const namespaces = [
      { binding: 'SKILLS', id: 'perch-skills' },
      { binding: 'KEYS', id },
    ];
    const obstacles = findObstacles({ namespaces, secrets: null });
    expect(obstacles).toEqual([
      expect.stringContaining('wrangler kv namespace create SKILLS'),
      expect.stringContaining('wrangler secret put OBJECT_NAME_SECRET'),
    ]);
  });

  it('may go ahead where both are there', () => {
    const namespaces = [{ binding: 'KEYS', id }];
    expect(findObstacles({ namespaces, secrets: ['OTHER', 'OBJECT_NAME_SECRET'] })).toEqual([]);
  });
});
