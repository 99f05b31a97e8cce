import { Component, type ComponentType, lazy, type ReactNode, useEffect } from 'react'
import { Button, ButtonLink } from './button.js'
import { Empty, Notice } from './card.js'
import { words } from './words.js'

/** Sets the name of the page in the browser tab. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? words.page.name : words.page.tab(title)
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

const RELOADED = 'arcus:reloaded'
/** Code that is missing once more within this time is missing for another reason than a new version. */
const RELOAD_AGAIN_MS = 60_000

/**
 * A component whose code is loaded on demand, by its name in its file. Code that cannot be loaded was mostly replaced by a
 * new version, and a failed import fails for ever, so the page is loaded again, once.
 */
// biome-ignore lint/suspicious/noExplicitAny: as React declares it, for components of any props
export function lazyPage<Name extends string, Code extends Record<Name, ComponentType<any>>>(
  load: () => Promise<Code>,
  name: Name,
) {
  return lazy<Code[Name]>(async () => {
    try {
      return { default: (await load())[name] }
    } catch (error) {
      if (!(await isServiceThere()) || !mayReload()) throw error
      location.reload()
      return new Promise<never>(() => {})
    }
  })
}

/** In place of a page that does not answer a browser shows an error of its own, which has no way back. */
async function isServiceThere(): Promise<boolean> {
  const answer = await fetch(location.href, { method: 'HEAD' }).catch(() => undefined)
  return answer !== undefined && answer.status < 500
}

/** Without a memory the reloads would have no end. */
function mayReload(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_AGAIN_MS) return false
    sessionStorage.setItem(RELOADED, String(Date.now()))
    return true
  } catch {
    return false
  }
}

interface BoundaryProps {
  path: string
  children: ReactNode
}

/** Shows a message in place of a page that throws, until another page is opened. */
export class PageBoundary extends Component<BoundaryProps, { error: unknown; path: string }> {
  override state: { error: unknown; path: string } = { error: undefined, path: this.props.path }

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? 'unknown' }
  }

  static getDerivedStateFromProps({ path }: BoundaryProps, state: { path: string }) {
    return path === state.path ? null : { error: undefined, path }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice
        tone="bad"
        title={words.page.broken}
        action={
          <Button size="sm" onClick={() => location.reload()}>
            {words.page.reload}
          </Button>
        }
      >
        {words.page.brokenText}
      </Notice>
    )
  }
}

export function NotFound() {
  useTitle(words.page.missingTab)
  return (
    <Empty
      isPage
      title={words.page.missing}
      action={<ButtonLink href="/directory">{words.page.toDirectory}</ButtonLink>}
    >
      {words.page.missingText}
    </Empty>
  )
}
