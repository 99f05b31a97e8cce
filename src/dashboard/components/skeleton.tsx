/** The shape of what is coming. `className` gives its size. */
export function Skeleton({ className }: { className: string }) {
  return <div className={`breathing rounded-md bg-line ${className}`} />
}

/** Rows of a list that is being read; said once to who cannot see it. */
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
