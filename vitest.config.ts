import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** A project in workerd: the worker `main` over real objects, SQLite and KV. `bindings` are added to those of all. */
function inWorkerd(
  name: string,
  main: string,
  files: { include: string[]; exclude: string[] },
  bindings: Record<string, string> = {},
): TestProjectInlineConfiguration {
  return {
    plugins: [
      cloudflareTest(({ inject }) => ({
        main,
        wrangler: { configPath: './wrangler.toml' },
        miniflare: {
          bindings: {
            /** The stand-in model server of this run: a loopback address. */
            MODEL_SERVER: inject('modelServer'),
            STAND_IN_KEY: 'a key that the stand-in server never shows',
            OBJECT_NAME_SECRET: 'a secret that only tests know, long enough to pass',
            KEY_CACHE_SECONDS: '0',
            SKILLS_FRESH_MS: '0',
            ...bindings,
          },
        },
      })),
    ],
    test: { name, ...files, globalSetup: ['./test/support/global-setup.ts'] },
  };
}

/**
 * Three projects in one run: the pure core and the scripts in plain Node (`*.core.test.ts`); everything that touches
 * the worker, the object, SQLite or KV, in workerd; and the tests that kill objects there, over a worker of their own.
 */
export default defineConfig({
  test: {
    silent: 'passed-only',
    projects: [
      {
        test: {
          name: 'core',
          environment: 'node',
          include: ['test/**/*.core.test.ts'],
        },
      },
      inWorkerd('worker', './test/support/worker.ts', {
        include: ['test/**/*.test.ts'],
        exclude: ['test/**/*.core.test.ts', 'test/faults/**'],
      }),
      inWorkerd(
        'faults',
        './test/faults/worker.ts',
        { include: ['test/faults/**/*.test.ts'], exclude: ['test/**/*.core.test.ts'] },
        {
          /** Scenarios, or cases `<scenario>:<point>:<hit>:<mode>`, commas between; all where empty. */
          FAULTS_ONLY: process.env['FAULTS_ONLY'] ?? '',
          /** Cases of a scenario, where not as many as usual. */
          FAULTS_LIMIT: process.env['FAULTS_LIMIT'] ?? '',
          /** Not empty: the first failure of a scenario ends it. */
          FAULTS_QUICK: process.env['FAULTS_QUICK'] ?? '',
        },
      ),
    ],
  },
});
