/** The deployment that the recordings in `fixtures` were made with, for `npm run replay -- FILE --deployment …`. */
export { testDeployment as deployment } from '../support/deployment.ts';
