import {
  Component,
  type ComponentProps,
  type ComponentType,
  createContext,
  lazy,
  type ReactNode,
  useContext,
  useEffect,
} from 'react'
import { Button, ButtonLink } from './button.js'
import { Empty, Notice } from './card.js'

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

const RELOADED = 'arcus:reloaded'
/** Code that is missing once more within this time is missing for another reason than a new version. */
const RELOAD_AGAIN_MS = 60_000

/** The number of times that a page was left after it had failed. Code that failed before is then loaded again. */
const Recoveries = createContext(0)

/**
 * A component whose code is loaded on demand, by its name in its file. Code that cannot be loaded was mostly replaced by a
 * new version, so the page is loaded again, once. Code that fails after that is asked for again when the page is opened the
 * next time, by a load of the whole page.
 */
// biome-ignore lint/suspicious/noExplicitAny: as React declares it, for components of any props
export function lazyPage<Name extends string, Code extends Record<Name, ComponentType<any>>>(
  load: () => Promise<Code>,
  name: Name,
) {
  let failedAt = -1
  const make = (recoveries: number) =>
    lazy<Code[Name]>(async () => {
      try {
        return { default: (await load())[name] }
      } catch (error) {
        // Browsers keep a failed import for the life of the document, so a second visit to the page is a real one.
        if ((await isServiceThere()) && (recoveries > 0 || mayReload())) {
          location.reload()
          return new Promise<never>(() => {})
        }
        failedAt = recoveries
        throw error
      }
    })
  let page = make(0)
  return function LazyPage(props: ComponentProps<Code[Name]>) {
    const recoveries = useContext(Recoveries)
    if (failedAt !== -1 && failedAt < recoveries) {
      failedAt = -1
      page = make(recoveries)
    }
    const Page = page
    return <Page {...props} />
  }
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

interface BoundaryState {
  error: unknown
  path: string
  recoveries: number
}

/** Shows a message in place of a page that throws, until another page is opened. */
export class PageBoundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: undefined, path: this.props.path, recoveries: 0 }

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? 'unknown' }
  }

  static getDerivedStateFromProps({ path }: BoundaryProps, state: BoundaryState) {
    if (path === state.path) return null
    const recoveries = state.recoveries + (state.error === undefined ? 0 : 1)
    return { error: undefined, path, recoveries }
  }

  override render() {
    const { error, recoveries } = this.state
    if (error === undefined)
      return <Recoveries value={recoveries}>{this.props.children}</Recoveries>
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
      The address is mistyped, or the API was deleted.
    </Empty>
  )
}
