import type { Browser, BrowserContext, Page } from 'playwright-core'
import { announceWallets } from './injected-wallets.js'
import type { TestWallet } from './test-wallet.js'

export interface PageOptions {
  wallets?: readonly TestWallet[]
  theme?: 'dark' | 'light'
  width?: number
  height?: number
  reducedMotion?: boolean
  /** Where it is opened, when not as the service calls itself. */
  at?: string
}

export interface OpenPage {
  page: Page
  context: BrowserContext
  /** What the page did that it must not: broke its policy, threw, complained, or called another host. */
  faults: string[]
  /** Bytes over the wire of each answer so far, by path. */
  received: Map<string, number>
  close(): Promise<void>
}

/** Enough on a busy machine, and below the limit of a test. */
const TIMEOUT_MS = 15_000

/** A fresh profile at the console of `origin`, with these wallets installed. */
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
  // What tsx wraps functions in; a page has none.
  await context.addInitScript('globalThis.__name ??= (it) => it')
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { arcusTestViolation } = window as unknown as { arcusTestViolation(text: string): void }
      arcusTestViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ''}`)
    })
  })
  await context.addInitScript(
    announceWallets,
    wallets.map(({ info }) => info),
  )
  const page = await context.newPage()
  for (const wallet of wallets) {
    wallet.onEvent = (event, data) => {
      const told = [wallet.info.uuid, event, data] as const
      page
        .evaluate(([uuid, name, value]) => window.arcusTestEmit(uuid, name, value), told)
        .catch(() => {})
    }
  }
  page.on('pageerror', (error) => faults.push(`thrown: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const isComplaint = ['error', 'warning'].includes(message.type())
    // Answers that the page asks for and expects: nobody is signed in, there is no such merchant.
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
