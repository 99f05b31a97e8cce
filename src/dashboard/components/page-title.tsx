import { type ReactNode, useEffect } from 'react'

/** The name of the page in the tab. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? 'Arcus' : `${title} · Arcus`
  }, [title])
}

export function PageTitle({
  title,
  children,
  aside,
}: {
  title: string
  children?: ReactNode
  aside?: ReactNode
}) {
  useTitle(title)
  return (
    <div className="mb-8 flex flex-wrap items-end justify-between gap-4">
      <div className="max-w-2xl">
        <h1 className="text-3xl font-semibold tracking-tight">{title}</h1>
        {children !== undefined && <p className="mt-2 text-pretty text-muted">{children}</p>}
      </div>
      {aside}
    </div>
  )
}
