import type { ReactNode } from 'react'

export interface TableColumn<Row> {
  name: string
  cell: (row: Row) => ReactNode
}

/** A table with one row an entry. It scrolls by itself where it is too wide, and takes the focus for that. */
export function DataTable<Row>({
  label,
  columns,
  rows,
  keyOf,
  onOpen,
  shown,
}: {
  label: string
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string | number
  /** Follows the link of a row that is pressed next to it. */
  onOpen?: (row: Row) => void
  /** The key of the row that a panel shows. */
  shown?: string | number | undefined
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
    <section className="relative overflow-x-auto" tabIndex={0} aria-label={label}>
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-muted">
          <tr className="border-b border-line">
            {columns.map(({ name }) => (
              <th
                key={name}
                scope="col"
                className="px-2.5 py-2 font-medium whitespace-nowrap first:pl-5 sm:px-4"
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((row) => (
            // The keyboard has the link in the row.
            <tr
              key={keyOf(row)}
              onClick={({ target }) => {
                const isOther = (target as Element).closest('a, button') !== null
                if (!isOther && getSelection()?.isCollapsed !== false) onOpen?.(row)
              }}
              className={`hover:bg-sunken ${onOpen && 'cursor-pointer'} ${keyOf(row) === shown ? 'bg-sunken' : ''}`}
            >
              {columns.map(({ name, cell }) => (
                <td
                  key={name}
                  className="px-2.5 py-2.5 align-middle whitespace-nowrap first:pl-5 sm:px-4"
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
