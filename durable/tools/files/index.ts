/** The session's files, for its model: find, read, change. */
import type { Plugin } from '../../plugins.ts';
import { editTool } from './edit.ts';
import { globTool, listTool } from './find.ts';
import { grepTool } from './grep.ts';
import { readTool } from './read.ts';
import { writeTool } from './write.ts';

export const fileTools: Plugin = {
  name: 'files',
  tools: [readTool, writeTool, editTool, listTool, globTool, grepTool],
  sections: [
    {
      name: 'files:guidance',
      order: 120,
      text:
        'Your files are in {{cwd}} and stay there from turn to turn. Find the place with glob or grep before you read, read ' +
        'before you change, and change with edit rather than by writing a file anew. After a change that others depend on, ' +
        'look for its other uses with grep.',
    },
  ],
};
