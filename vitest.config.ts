import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

/**
 * Two projects in one run: the pure core and the scripts in plain Node (`*.core.test.ts`), and everything that
 * touches the worker, the object, SQLite or KV in workerd (`*.test.ts`).
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
      {
        plugins: [
          cloudflareTest(({ inject }) => ({
            main: './test/support/worker.ts',
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                /** The stand-in model server of this run: a loopback address. */
                MODEL_SERVER: inject('modelServer'),
                STAND_IN_KEY: 'a key that the stand-in server never shows',
                OBJECT_NAME_SECRET: 'a secret that only tests know, long enough to pass',
                KEY_CACHE_SECONDS: '0',
                SKILLS_FRESH_MS: '0',
              },
            },
          })),
        ],
        test: {
          name: 'worker',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.core.test.ts'],
          globalSetup: ['./test/support/global-setup.ts'],
        },
      },
    ],
  },
});
