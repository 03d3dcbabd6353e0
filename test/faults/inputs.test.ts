import { testScenarios } from './part.ts';

testScenarios(['prompts', 'create', 'steer', 'steer-idle', 'discard', 'viewers']);
