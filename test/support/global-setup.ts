import type { TestProject } from 'vitest/node';
import { startModelServer } from './model-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of this run's stand-in model server. */
    modelServer: string;
  }
}

/** One stand-in model server for the run of a project; tests keep apart by the model's name. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startModelServer();
  project.provide('modelServer', server.url);
  return server.close;
}
