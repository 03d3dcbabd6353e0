/** Lines of columns, two spaces apart, the head first. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const table = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
