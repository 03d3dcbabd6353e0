import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { startToolServer } from './mcp-server.ts';
import { startModelServer } from './model-server.ts';
import { startWebServer } from './web-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of this run's stand-in model server. */
    modelServer: string;
    /** The address of this run's web server on loopback. */
    webServer: string;
    /** The address of this run's server of tools. */
    toolServer: string;
    /** Streams recorded from real providers, payloads by recording; empty where the recordings are not at hand. */
    recordings: Record<string, string[]>;
  }
}

const RECORDINGS = new URL('../../../shared/wire/', import.meta.url);
const ENDING = '.chunks.txt';

/** One stand-in model server for the run of a project; tests keep apart by the model's name. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startModelServer();
  project.provide('modelServer', server.url);
  const web = await startWebServer();
  project.provide('webServer', web.url);
  const tools = await startToolServer();
  project.provide('toolServer', tools.url);
  project.provide('recordings', readRecordings());
  return async () => {
    await Promise.all([server.close(), web.close(), tools.close()]);
  };
}

function readRecordings(): Record<string, string[]> {
  if (!existsSync(RECORDINGS)) return {};
  const files = readdirSync(RECORDINGS).filter((file) => file.endsWith(ENDING));
  return Object.fromEntries(
    files.map((file) => [
      file.slice(0, -ENDING.length),
      readFileSync(new URL(file, RECORDINGS), 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    ]),
  );
}
