const SESSION = 'hello';
export const TRY = '/release-notes for v2: search is twice as fast, dark mode, the login loop is fixed';

/** What `npm start` says when the service answers. Both lines may be pasted again and again. */
export function formatWelcome(url: string, key: string): string {
  const auth = `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`;
  const create = `curl -s ${url}/v1/sessions ${auth} \\\n  -H 'Idempotency-Key: ${SESSION}' -d '{"id":"${SESSION}"}'`;
  const ask =
    `curl -sN ${url}/v1/sessions/${SESSION}/messages ${auth} \\\n` +
    `  -H 'Accept: text/event-stream' -d '${JSON.stringify({ text: TRY })}'`;
  return `
Perch answers at ${url}

Open a session, then send it a prompt and watch the answer stream:

${create}

${ask}

Other prompts worth trying: "call current_time {}", "/handover", "What were you told?"
Edit a skill in skills/ and send the prompt again. Ctrl-C stops; sessions are kept.
`;
}
