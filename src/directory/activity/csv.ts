export type CsvCell = string | number | null | undefined

/** Renders a line of a CSV file (RFC 4180). */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(renderCell).join(',')}\r\n`
}

/** Renders a cell. A spreadsheet would run a text that begins like a formula. */
function renderCell(value: CsvCell): string {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
