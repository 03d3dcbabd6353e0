export { repairSession } from './repair.ts';
