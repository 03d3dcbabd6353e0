/** The one tool of the benchmark: too small to be measured, with a result of the size that such tools have. */
export function lookUp(key: string): string {
  return JSON.stringify({
    key,
    owner: 'team-harbour',
    tier: 2,
    run_book: `https://run-books.example/${key}`,
    summary: 'Takes orders in, keeps them until they are settled, and tells the ledger. Restarts are safe.',
  });
}
