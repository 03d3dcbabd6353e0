import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Secrets of local development, as wrangler reads them. Not in git. */
export const DEV_VARS = '.dev.vars';
/** The key that `npm start` made. Not in git. */
export const DEV_KEY = '.perch/dev-key';
/** Where the running service is. Not in git. */
export const RUNNING = '.perch/running.json';
/** Wrangler's own default. */
export const STATE = '.wrangler/state';
export const SKILLS = 'skills';
