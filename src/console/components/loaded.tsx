import { ArcusError } from '@arcus/client/calls'
import type { UseQueryResult } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { Button } from './button.js'
import { Notice } from './card.js'
import { Moment } from './moment.js'

type Read<Data> = Pick<
  UseQueryResult<Data>,
  'error' | 'isFetching' | 'refetch' | 'dataUpdatedAt'
> & { data: Data | undefined }

/** True while the service answers nothing, which the banner above the page says once for all its parts. */
export const Silence = createContext(false)

/**
 * Shows a query in each of its states: loading, failed, present, and present but old, because the last read failed. What is
 * shown keeps its place in the tree, and so the state of its fields.
 */
export function Loaded<Data>({
  query,
  skeleton,
  missing,
  children,
}: {
  query: Read<Data>
  skeleton: ReactNode
  /** Replaces the error if the service answers 404 or 410. */
  missing?: ReactNode
  children: (data: Data) => ReactNode
}) {
  const { data, error, isFetching, refetch, dataUpdatedAt } = query
  const isSilent = useContext(Silence)
  const again = (
    <Button size="sm" isBusy={isFetching} onClick={() => void refetch()}>
      Try again
    </Button>
  )
  if (data === undefined) {
    if (error === null) return skeleton
    const isMissing = error instanceof ArcusError && (error.status === 404 || error.status === 410)
    if (isMissing && missing !== undefined) return missing
    return (
      <Notice tone="bad" title="This could not be loaded" action={again}>
        {error.message}
      </Notice>
    )
  }
  return (
    <>
      {error !== null && !isSilent && (
        <div className="mb-4">
          <Notice tone="warn" title="What you see may be out of date" action={again}>
            Last read <Moment at={dataUpdatedAt} />. {error.message}
          </Notice>
        </div>
      )}
      {children(data)}
    </>
  )
}

/** A placeholder while content loads, in the shape of a line or of a card. `className` gives its size. */
export function Skeleton({ className, isCard = false }: { className: string; isCard?: boolean }) {
  return (
    <div className={`breathing bg-line ${isCard ? 'rounded-2xl' : 'rounded-md'} ${className}`} />
  )
}

/** Placeholder rows of a list, or of a dense one, with one label for screen readers. */
export function SkeletonRows({
  count,
  label,
  isDense = false,
}: {
  count: number
  label: string
  isDense?: boolean
}) {
  const rows = Array.from({ length: count }, (_, index) => index)
  return (
    <div role="status" aria-label={label} className="divide-y divide-line">
      {rows.map((row) => (
        <div
          key={row}
          className={`flex items-center gap-4 px-4 sm:px-5 ${isDense ? 'h-14' : 'py-4'}`}
        >
          <Skeleton className={`shrink-0 ${isDense ? 'size-8' : 'size-10'}`} />
          <div className="flex-1 space-y-2">
            <Skeleton className="h-4 w-2/5" />
            <Skeleton className="h-3 w-3/5" />
          </div>
          <Skeleton className="h-4 w-14" />
        </div>
      ))}
    </div>
  )
}
