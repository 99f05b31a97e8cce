import { ArcusError } from '@arcus/client/calls'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './button.js'
import { Notice } from './card.js'
import { Moment, useIsOld } from './moment.js'

type Read<Data> = Pick<
  UseQueryResult<Data>,
  'error' | 'isFetching' | 'refetch' | 'dataUpdatedAt'
> & { data: Data | undefined }

/**
 * Shows a query in each of its states: loading, failed, present, and present but old, because the last read failed or,
 * where it `isLive`, has no answer for long. What is shown keeps its place in the tree, and so the state of its fields.
 */
export function Loaded<Data>({
  query,
  skeleton,
  missing,
  isLive = false,
  children,
}: {
  query: Read<Data>
  skeleton: ReactNode
  /** True for a query that is read again and again. */
  isLive?: boolean
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
  const why = error?.message ?? (isLive ? 'Arcus has not answered since.' : undefined)
  return (
    <>
      {why !== undefined && (
        <OldNotice at={dataUpdatedAt} isCertain={error !== null} action={again}>
          {why}
        </OldNotice>
      )}
      {children(data)}
    </>
  )
}

/** Says that what is shown may be old: at once after a failed read (`isCertain`), else when it was read too long ago. */
function OldNotice({
  at,
  isCertain,
  action,
  children,
}: {
  at: number
  isCertain: boolean
  action: ReactNode
  children: string
}) {
  const isOld = useIsOld(at)
  if (!isCertain && !isOld) return null
  return (
    <div className="mb-4">
      <Notice tone="warn" title="What you see may be out of date" action={action}>
        Last read <Moment at={at} />. {children}
      </Notice>
    </div>
  )
}

/** A placeholder while content loads, in the shape of a line or of a card. `className` gives its size. */
export function Skeleton({ className, isCard = false }: { className: string; isCard?: boolean }) {
  return (
    <div className={`breathing bg-line ${isCard ? 'rounded-2xl' : 'rounded-md'} ${className}`} />
  )
}

/** Placeholder rows of a list, with one label for screen readers. */
export function SkeletonRows({ count, label }: { count: number; label: string }) {
  const rows = Array.from({ length: count }, (_, index) => index)
  return (
    <div role="status" aria-label={label} className="divide-y divide-line">
      {rows.map((row) => (
        <div key={row} className="flex items-center gap-4 px-4 py-4 sm:px-5">
          <Skeleton className="size-10 shrink-0" />
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
