import { testScenarios } from './part.ts';

testScenarios(['tools', 'many-steps', 'retries', 'budget', 'gestures']);
