import { onlineManager, useQuery } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { createPortal } from 'react-dom'
import { Link, useLocation } from 'wouter'
import { settingsQuery, statusQuery } from '../api/queries.js'
import { IconButton } from './button.js'
import { Dialog } from './dialog.js'
import { Mark } from './icons.js'
import { SearchBox } from './search-box.js'
import { Toasts } from './toast.js'
import { words as allWords } from './words.js'

const words = allWords.shell

/** The places of the navigation, each with the beginnings of the addresses that belong to it. */
const places = [
  [words.directory, ['/directory', '/merchants']],
  [words.payments, ['/payments']],
  [words.status, ['/status']],
  [words.console, ['/console']],
] as const

/** The pages that explain, in the order of their links. */
export const guides = [
  ['/how-it-works', words.howItWorks],
  ['/for/merchants', words.forMerchants],
  ['/for/agents', words.forAgents],
  ['/for/operators', words.forOperators],
] as const

/** The header, navigation and footer of every page. A new page receives the focus at its beginning. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  const main = useRef<HTMLElement>(null)
  const shown = useRef(path)
  const [slot, setSlot] = useState<HTMLElement | null>(null)
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
        {words.skip}
      </a>
      <header className="top-0 z-20 sm:sticky border-b border-line bg-paper/85 backdrop-blur-md">
        <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-3 px-4 sm:gap-x-6 sm:px-6">
          <Link href="/" className="flex h-14 items-center gap-2 font-semibold tracking-tight">
            <Mark />
            <span className="max-sm:sr-only">{words.arcus}</span>
          </Link>
          <nav
            aria-label={words.mainNav}
            // A wider font scrolls here. It never makes a second line, which would move the page.
            className="-my-1 flex min-w-0 flex-1 gap-0.5 overflow-x-auto py-1 [scrollbar-width:none] sm:gap-1"
          >
            {places.map(([name, starts]) => (
              <Link
                key={name}
                href={starts[0]}
                aria-current={starts.some((start) => path.startsWith(start)) ? 'page' : undefined}
                className="rounded-lg px-2 py-1.5 text-sm text-muted transition-colors hover:text-ink aria-[current]:font-medium aria-[current]:text-ink sm:px-3 sm:aria-[current]:bg-ink/6"
              >
                {name}
              </Link>
            ))}
          </nav>
          <div
            ref={setSlot}
            className={`max-lg:order-last max-lg:w-full max-lg:pb-2.5 ${
              // The account comes late, and nothing may move when it does.
              path.startsWith('/console') ? 'max-lg:min-h-10.5' : 'empty:hidden'
            }`}
          />
          <SearchButton />
          <span className="max-sm:hidden">
            <ThemeToggle />
          </span>
        </div>
      </header>
      <Banners path={path} />
      <main
        id="main"
        ref={main}
        tabIndex={-1}
        className="mx-auto min-h-dvh w-full max-w-6xl flex-1 px-4 pt-8 pb-24 !outline-none sm:px-6 sm:pt-12"
      >
        <HeaderSlot value={slot}>{children}</HeaderSlot>
      </main>
      <Footer />
      <Toasts />
    </div>
  )
}

function Footer() {
  const { data: settings } = useQuery(settingsQuery)
  const network = settings?.networks.find(({ listed }) => listed)
  return (
    <footer className="border-t border-line">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-8 gap-y-2 px-4 py-6 text-xs text-muted sm:px-6">
        <p className="max-w-prose">{words.disclaimer}</p>
        <nav aria-label={words.moreNav} className="flex flex-wrap gap-x-4 gap-y-1">
          {guides.map(([href, name]) => (
            <Link
              key={href}
              href={href}
              className="underline-offset-4 hover:text-ink hover:underline"
            >
              {name}
            </Link>
          ))}
        </nav>
        <p className="tabular">
          <a href="/docs" className="underline underline-offset-4 hover:text-ink">
            {words.httpInterface}
          </a>
          {network !== undefined &&
            ` · ${words.network(network.name, network.network, settings?.devnet === true)}`}
          {settings !== undefined && ` · ${words.version(settings.version)}`}
        </p>
        <span className="sm:hidden">
          <ThemeToggle />
        </span>
      </div>
    </footer>
  )
}

/** The place in the header that a page may fill, `null` until it is drawn. */
const HeaderSlot = createContext<HTMLElement | null>(null)

/** Puts content of a page beside the navigation. */
export function InHeader({ children }: { children: ReactNode }) {
  const slot = useContext(HeaderSlot)
  return slot === null ? null : createPortal(children, slot)
}

/** Pages other than the status ask less often. */
const STANDING_MS = 20_000

/** Says on every page that there is no network, or that no payment can settle. The status page says the second by itself. */
function Banners({ path }: { path: string }) {
  const isOnline = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  )
  const { data } = useQuery({ ...statusQuery, refetchInterval: STANDING_MS })
  return (
    <div role="status">
      {!isOnline && (
        <p className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">{words.offline}</p>
      )}
      {data?.status === 'not_ready' && path !== '/status' && (
        <p className="bg-bad-soft px-4 py-2 text-center text-sm text-bad">
          {words.notReady}{' '}
          <Link href="/status" className="underline underline-offset-4">
            {words.seeWhy}
          </Link>
        </p>
      )}
    </div>
  )
}

/** Opens the search for payments, addresses, merchants and words, from every page. `/` does so too, or goes to the search of the page. */
function SearchButton() {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, textarea, select, dialog') !== null
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return
      event.preventDefault()
      const ofPage = document.querySelector<HTMLInputElement>('main search input')
      if (ofPage === null) setIsOpen(true)
      else ofPage.focus()
    }
    addEventListener('keydown', open)
    return () => removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <IconButton
        label={words.search}
        icon="search"
        title={words.searchTitle}
        aria-keyshortcuts="/"
        onClick={() => setIsOpen(true)}
      />
      {isOpen && (
        <Dialog title={words.search} onClose={() => setIsOpen(false)}>
          <SearchBox isAlone onSearch={() => setIsOpen(false)} />
        </Dialog>
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
  return (
    <IconButton
      label={words.theme[other]}
      icon={theme === 'dark' ? 'sun' : 'moon'}
      title={words.theme[other]}
      onClick={toggle}
    />
  )
}
