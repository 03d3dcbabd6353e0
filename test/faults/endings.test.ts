import { testScenarios } from './part.ts';

testScenarios(['cancel-answer', 'cancel-tool', 'cancel-preparation', 'reset', 'erase', 'repair', 'fork']);
