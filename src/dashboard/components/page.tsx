import { Component, type ReactNode, useEffect } from 'react'
import { Button, ButtonLink } from './button.js'
import { Empty } from './card.js'
import { Notice } from './notice.js'

/** Sets the name of the page in the browser tab. */
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

/** Shows a message in place of a page that throws, mostly because its code was replaced by a new version. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? 'unknown' }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice
        tone="bad"
        title="This page could not be shown"
        action={
          <Button size="sm" onClick={() => location.reload()}>
            Load it again
          </Button>
        }
      >
        The console may have been updated while it was open, or the connection failed. Drafts are
        kept on this device.
      </Notice>
    )
  }
}

export function NotFound() {
  useTitle('Not found')
  return (
    <Empty
      isPage
      title="There is no such page"
      action={<ButtonLink href="/">To the directory</ButtonLink>}
    >
      The address is mistyped, or the listing was deleted.
    </Empty>
  )
}
