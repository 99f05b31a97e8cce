import type { Browser, BrowserContext, Page } from 'playwright-core'
import { announceWallets } from './injected-wallets.js'
import type { TestWallet } from './test-wallet.js'

export interface PageOptions {
  wallets?: readonly TestWallet[]
  theme?: 'dark' | 'light'
  width?: number
  height?: number
  reducedMotion?: boolean
  hasTouch?: boolean
  /** The origin to open, if it is not that of the service's own URLs. */
  at?: string
}

export interface OpenPage {
  page: Page
  context: BrowserContext
  /** Violations by the page: of its content policy, errors, warnings, and calls to other hosts. */
  faults: string[]
  /** Bytes over the wire of each answer so far, by path. */
  received: Map<string, number>
  close(): Promise<void>
}

/** Enough on a busy machine, and below the time limit of a test. */
const TIMEOUT_MS = 15_000

/** Opens a page at `origin` in a fresh profile with these wallets. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: PageOptions = {},
): Promise<OpenPage> {
  const { wallets = [], theme = 'light', width = 1280, height = 900 } = options
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: options.reducedMotion === false ? 'no-preference' : 'reduce',
    acceptDownloads: true,
    hasTouch: options.hasTouch ?? false,
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  const faults: string[] = []
  const received = new Map<string, number>()
  await context.exposeBinding(
    'arcusTestWallet',
    (_source, uuid: string, method: string, params) => {
      const wallet = wallets.find(({ info }) => info.uuid === uuid)
      return wallet?.handle(method, params)
    },
  )
  await context.exposeBinding('arcusTestViolation', (_source, text: string) => {
    faults.push(`policy: ${text}`)
  })
  // tsx wraps functions in `__name`, which a page does not have.
  await context.addInitScript('globalThis.__name ??= (it) => it')
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { arcusTestViolation } = window as Window & { arcusTestViolation?(text: string): void }
      arcusTestViolation?.(
        `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ''}`,
      )
    })
  })
  await context.addInitScript(
    announceWallets,
    wallets.map(({ info }) => info),
  )
  const page = await context.newPage()
  for (const wallet of wallets) {
    wallet.onEvent = (event, data) => {
      const sent = [wallet.info.uuid, event, data] as const
      page
        .evaluate(([uuid, name, value]) => window.arcusTestEmit(uuid, name, value), sent)
        .catch(() => {})
    }
  }
  page.on('pageerror', (error) => faults.push(`thrown: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const isComplaint = ['error', 'warning'].includes(message.type())
    // The page expects these answers: nobody is signed in, or there is no such merchant.
    const isExpected = /^Failed to load resource: .* (401|404|409|422) /.test(message.text())
    if (isComplaint && !isExpected) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    const isOurs = url.origin === origin || ['data:', 'blob:'].includes(url.protocol)
    if (!isOurs) faults.push(`called elsewhere: ${request.url()}`)
  })
  page.on('response', async (response) => {
    const sizes = await response
      .request()
      .sizes()
      .catch(() => undefined)
    const { pathname } = new URL(response.url())
    if (sizes !== undefined) received.set(pathname, sizes.responseBodySize)
  })
  return { page, context, faults, received, close: () => context.close() }
}
