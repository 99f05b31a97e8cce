import { ArcusError } from '@arcus/client/calls'
import { onlineManager, useQuery } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  Suspense,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { createPortal } from 'react-dom'
import { Link, useLocation } from 'wouter'
import { listedNetwork, settingsQuery, standingQuery } from '../api/queries.js'
import { IconButton } from './button.js'
import { Mark } from './icons.js'
import { Silence } from './loaded.js'
import { Moment, useIsOld } from './moment.js'
import { lazyPage } from './page.js'
import { Toast } from './toast.js'

const SearchDialog = lazyPage(() => import('./search-box.js'), 'SearchDialog')

const TESTNET = 'eip155:5042002'

/** The links of the navigation, each with the beginnings of the addresses that belong to it. */
const places = [
  ['Directory', '/', /^\/(?:$|merchants\/)/],
  ['Payments', '/payments', /^\/payments/],
  ['Sell', '/console', /^\/console/],
  ['Status', '/status', /^\/status/],
  ['Docs', '/how-it-works', /^\/(?:how-it-works|quickstart|operations)/],
] as const

/** The header, navigation and footer of every page. A new page receives the focus at its beginning. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  const main = useRef<HTMLElement>(null)
  const shown = useRef(path)
  const [slot, setSlot] = useState<HTMLElement | null>(null)
  const isSilent = useSilence()
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    window.scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [path])

  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#main"
        className="absolute top-2 left-2 z-50 -translate-y-20 rounded-lg bg-accent px-4 py-2 text-sm text-on-accent focus:translate-y-0"
      >
        Skip to content
      </a>
      <header className="top-0 z-20 border-b border-line bg-paper/85 backdrop-blur-md lg:sticky">
        <div className="mx-auto flex max-w-7xl flex-wrap items-center gap-x-3 px-4 sm:px-6 lg:gap-x-6">
          <Link href="/" className="flex h-14 items-center gap-2 font-semibold tracking-tight">
            <Mark />
            {/* The account takes its place on a phone. */}
            <span className={path.startsWith('/console') ? 'max-sm:sr-only' : ''}>Arcus</span>
          </Link>
          <nav
            aria-label="Main"
            // A wider font scrolls here. It never makes a second line, which would move the page.
            className="-mx-2 flex min-w-0 gap-0.5 overflow-x-auto pb-1.5 [scrollbar-width:none] max-lg:order-last max-lg:w-[calc(100%+1rem)] lg:mx-0 lg:flex-1 lg:gap-1 lg:p-1"
          >
            {places.map(([name, href, own]) => (
              <Link
                key={name}
                href={href}
                aria-current={own.test(path) ? 'page' : undefined}
                className="rounded-lg px-2 py-1.5 text-sm text-muted transition-colors hover:text-ink aria-[current]:bg-ink/6 aria-[current]:font-medium aria-[current]:text-ink sm:px-3"
              >
                {name}
              </Link>
            ))}
          </nav>
          <div className="ml-auto flex items-center gap-1">
            <div ref={setSlot} className="mr-1 empty:hidden" />
            <NetworkName />
            <SearchButton />
            <ThemeToggle />
          </div>
        </div>
      </header>
      <Banners path={path} isSilent={isSilent} />
      <main
        id="main"
        ref={main}
        tabIndex={-1}
        className="mx-auto min-h-dvh w-full max-w-7xl flex-1 px-4 pt-8 pb-24 outline-hidden sm:px-6 sm:pt-12"
      >
        <HeaderSlot value={slot}>
          <Silence value={isSilent}>{children}</Silence>
        </HeaderSlot>
      </main>
      <Footer />
      <Toast />
    </div>
  )
}

/** Names a network whose money is worth nothing. */
function NetworkName() {
  const { data: settings } = useQuery(settingsQuery)
  const isTestnet = listedNetwork(settings)?.network === TESTNET
  if (settings?.devnet !== true && !isTestnet) return null
  return (
    <span className="rounded-full bg-warn-soft px-2 text-2xs leading-5 font-medium text-warn">
      {settings?.devnet === true ? 'Devnet' : 'Testnet'}
    </span>
  )
}

function Footer() {
  const { data: settings } = useQuery(settingsQuery)
  const network = listedNetwork(settings)
  const link = 'underline-offset-4 hover:text-ink hover:underline'
  return (
    <footer className="border-t border-line">
      <div className="mx-auto flex max-w-7xl flex-wrap items-center justify-between gap-x-8 gap-y-2 px-4 py-6 text-xs text-muted sm:px-6">
        <p className="max-w-prose">Arcus holds no money and does not vouch for the APIs.</p>
        <nav aria-label="More" className="flex flex-wrap gap-x-4 gap-y-1">
          <Link href="/how-it-works" className={link}>
            How it works
          </Link>
          <Link href="/quickstart" className={link}>
            Quickstart
          </Link>
          <a href="/docs" className={link}>
            HTTP interface
          </a>
        </nav>
        <p className="tabular">
          {network !== undefined && `${network.name} (${network.network}) · `}
          {settings !== undefined && `version ${settings.version}`}
        </p>
      </div>
    </footer>
  )
}

/** The element of the header that a page may fill, `null` until it is drawn. */
const HeaderSlot = createContext<HTMLElement | null>(null)

/** Puts content of a page next to the navigation. */
export function InHeader({ children }: { children: ReactNode }) {
  const slot = useContext(HeaderSlot)
  return slot === null ? null : createPortal(children, slot)
}

/** With the tick of the clock, the banner stands there within 20 seconds of the last answer. */
const SILENT_MS = 14_000

/** Returns whether the service has stopped answering. A tab that was hidden asked nothing meanwhile. */
function useSilence(): boolean {
  const { error, dataUpdatedAt } = useQuery(standingQuery)
  const [shownAt, setShownAt] = useState(() => Date.now())
  useEffect(() => {
    const note = () => setShownAt(Date.now())
    document.addEventListener('visibilitychange', note)
    return () => document.removeEventListener('visibilitychange', note)
  }, [])
  const isOld = useIsOld(Math.max(shownAt, dataUpdatedAt), SILENT_MS)
  return isOld || (error instanceof ArcusError && (error.status === 0 || error.status >= 500))
}

/** Says on every page that nothing answers, or that no payment can settle. The status page says the second by itself. */
function Banners({ path, isSilent }: { path: string; isSilent: boolean }) {
  const isOnline = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  )
  const { data, dataUpdatedAt } = useQuery(standingQuery)
  const cannotSettle = !isSilent && data?.status === 'not_ready' && path !== '/status'
  return (
    <div role="status">
      {(isSilent || !isOnline) && (
        <p className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">
          {isOnline ? 'Arcus does not answer.' : 'You are offline.'} What you see may be out of date
          {data !== undefined && (
            <>
              : last read <Moment at={dataUpdatedAt} />
            </>
          )}
          . Drafts stay on this device.
        </p>
      )}
      {cannotSettle && (
        <p className="bg-bad-soft px-4 py-2 text-center text-sm text-bad">
          Payments cannot settle at this moment. Do not pay until they can.{' '}
          <Link href="/status" className="underline underline-offset-4">
            See why
          </Link>
        </p>
      )}
    </div>
  )
}

/** Opens the search for payments, addresses, sellers and words, from every page. ⌘K and Ctrl+K do so too, and `/`, which prefers the search of the page. */
function SearchButton() {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, textarea, select, dialog') !== null
      const isCommand = event.ctrlKey || event.metaKey
      const isSlash = event.key === '/' && !isCommand && !event.altKey && !isTyping
      const isForAll = event.key === 'k' && isCommand && document.querySelector('dialog') === null
      if (!isSlash && !isForAll) return
      event.preventDefault()
      const ofPage = document.querySelector<HTMLInputElement>('main search input')
      if (ofPage === null || isForAll) setIsOpen(true)
      else ofPage.focus()
    }
    addEventListener('keydown', open)
    return () => removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <IconButton
        label="Search everything"
        icon="search"
        title="Search everything (press / or ⌘K)"
        aria-keyshortcuts="/ Control+K Meta+K"
        onClick={() => setIsOpen(true)}
      />
      {isOpen && (
        <Suspense>
          <SearchDialog onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

function watchTheme(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** Switches between light and dark. A choice that agrees with the system is not kept, so that it follows the system. */
function ThemeToggle() {
  const theme = useSyncExternalStore(watchTheme, () =>
    document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light',
  )
  const other = theme === 'dark' ? 'light' : 'dark'
  const toggle = () => {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
    try {
      if (other === system) localStorage.removeItem('arcus:theme')
      else localStorage.setItem('arcus:theme', other)
    } catch {
      document.documentElement.dataset.theme = other
    }
    // `/theme.js` listens and applies the choice.
    dispatchEvent(new Event('arcus:theme'))
  }
  const name = `Switch to the ${other} theme`
  return (
    <IconButton
      label={name}
      icon={theme === 'dark' ? 'sun' : 'moon'}
      title={name}
      onClick={toggle}
    />
  )
}
