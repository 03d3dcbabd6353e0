export { answer, waitForAnswer } from './answer.ts';
export { type Feed, openFeed } from './feed.ts';
export { formatFrame, formatSse } from './sse.ts';
export { answerSse } from './sse-response.ts';
export { followTurn } from './turn.ts';
