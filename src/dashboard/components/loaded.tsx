import type { UseQueryResult } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import type { ReactNode } from 'react'
import { Button } from './button.js'
import { Moment } from './moment.js'
import { Notice } from './notice.js'

type Read<Data> = Pick<
  UseQueryResult<Data>,
  'error' | 'isFetching' | 'refetch' | 'dataUpdatedAt'
> & { data: Data | undefined }

/** Shows a query in each of its states: loading, failed, present, and present but old because the last read failed. */
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
  if (error === null) return children(data)
  return (
    <div className="space-y-4">
      <Notice tone="warn" title="What you see may be out of date" action={again}>
        Last read <Moment at={dataUpdatedAt} />. {error.message}
      </Notice>
      {children(data)}
    </div>
  )
}

/** A placeholder while content loads. `className` gives its size. */
export function Skeleton({ className }: { className: string }) {
  return <div className={`breathing rounded-md bg-line ${className}`} />
}

/** Placeholder rows of a list, with one label for screen readers. */
export function SkeletonRows({ count, label }: { count: number; label: string }) {
  const rows = Array.from({ length: count }, (_, index) => index)
  return (
    <div role="status" aria-label={label} className="divide-y divide-line">
      {rows.map((row) => (
        <div key={row} className="flex items-center gap-4 px-4 py-4 sm:px-5">
          <Skeleton className="size-10 shrink-0 !rounded-[10px]" />
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
