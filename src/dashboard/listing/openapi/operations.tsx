import { MethodChip } from '../../components/badge.js'
import { StrangerText, UrlText } from '../../components/stranger-text.js'
import type { Operation, ReadOpenApi } from './read-openapi.js'

/** What a file offers, to choose from, and what of it cannot be listed. */
export function Operations({
  found: { operations, skipped },
  chosen,
  onChoose,
}: {
  found: ReadOpenApi
  chosen: ReadonlySet<Operation>
  onChoose: (chosen: ReadonlySet<Operation>) => void
}) {
  const toggle = (operation: Operation) => {
    const next = new Set(chosen)
    if (!next.delete(operation)) next.add(operation)
    onChoose(next)
  }
  return (
    <div className="space-y-3">
      <fieldset className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line">
        <legend className="sr-only">Operations of the file</legend>
        {operations.map((operation) => (
          <label
            key={operation.method + operation.url}
            className="flex cursor-pointer items-start gap-3 px-3 py-2.5 text-sm hover:bg-sunken/60"
          >
            <input
              type="checkbox"
              checked={chosen.has(operation)}
              onChange={() => toggle(operation)}
              className="mt-1 accent-accent"
            />
            <span className="min-w-0">
              <span className="block font-medium">
                <StrangerText text={operation.title} />
              </span>
              <span className="flex min-w-0 items-center gap-2">
                <MethodChip method={operation.method} />
                <span className="min-w-0 truncate">
                  <UrlText url={operation.url} />
                </span>
              </span>
            </span>
          </label>
        ))}
        {operations.length === 0 && (
          <p className="px-3 py-4 text-sm text-muted">Nothing in this file can be listed.</p>
        )}
      </fieldset>
      {skipped.length > 0 && (
        <details className="text-sm text-muted">
          <summary className="w-fit hover:text-ink">{skipped.length} cannot be listed</summary>
          <ul className="mt-2 space-y-1 text-xs">
            {skipped.map(({ what, why }) => (
              <li key={what}>
                <StrangerText text={what} max={100} />: {why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
