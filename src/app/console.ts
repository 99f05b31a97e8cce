import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { TakenAsset } from '@arcus/protocol/answers/payments'
import type { ConsoleSettings } from '@arcus/protocol/answers/service'
import { networks } from '@arcus/protocol/x402/networks'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { publicPages } from '../console/public-pages.js'
import { sendPacked, toPackedBody } from '../http/cached-reply.js'
import { builtConsole, isConsoleBuilt } from '../http/console-folder.js'
import { type PageHead, writeHead } from '../http/html.js'
import type { AnswerPage } from '../http/not-found.js'
import { describedAs, type Operation } from '../http/operation.js'
import { version } from '../http/version.js'
import type { Config } from './config/config.js'

/** The web console as this process serves it. */
export interface Console {
  isBuilt: boolean
  /** Adds its files as routes; await it before the server starts. */
  install(app: FastifyInstance): Promise<void>
  /** Answers with the page, which reads the rest of the address itself. */
  answerPage: AnswerPage
  /** The paths of its pages that search engines may list. */
  publicPages: readonly string[]
}

const PAGE = 'index.html'
/** The pages that need no head of their own. */
const PLAIN_PAGES = [...publicPages.filter((path) => path !== '/'), '/console', '/console/*']
const TAGLINE =
  'Charge a cent per API call. Arcus settles x402 payments on Arc in half a second: no account, no API key, no gas.'
const ASSETS = 'assets'
const COMPRESSED = /\.(br|gz)$/
const NOT_BUILT =
  'The console is not built. Run "npm run build" and start the service again; its API works without.\n'

/**
 * The console runs only scripts of this origin, calls only this origin, and stands in no frame. Icons of wallets come as
 * data URIs (EIP-6963). Text of listings cannot become markup (Trusted Types).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** One year, because hashed names are never used again. */
const FOREVER = 'public, max-age=31536000, immutable'
/** Kept, but checked by its tag before each use. */
const REVALIDATE = 'no-cache'

/** Returns the headers of every file of the console. `isSecure`: its public address is https. */
function pageHeaders(isSecure: boolean): Record<string, string> {
  return {
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin-allow-popups',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(isSecure ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}

/** Opens the build of the console. Without one every page answers with a sentence that says so. */
export function openConsole(options: {
  /** The output of `npm run build`; `builtConsole` unless given. */
  folder?: string
  /** `BASE_URL` and `DIRECTORY_URL`: pages belong to the second. */
  baseUrl: string
  directoryUrl: string
}): Console {
  const { folder = builtConsole, baseUrl, directoryUrl } = options
  const isBuilt = isConsoleBuilt(folder)
  const built = isBuilt ? readFileSync(`${folder}/${PAGE}`, 'utf8') : ''
  const home = homeHead(directoryUrl)
  const headers = pageHeaders(directoryUrl.startsWith('https:'))
  const facilitator = new URL(baseUrl)
  const directory = new URL(directoryUrl)

  /** Wallets sign for the directory's own address, so its pages are shown nowhere else. */
  const isElsewhere = (request: FastifyRequest) =>
    facilitator.host !== directory.host && request.host === facilitator.host

  function send(reply: FastifyReply, file: string, cacheControl: string): FastifyReply {
    return reply
      .headers({ ...headers, 'cache-control': cacheControl })
      .sendFile(file, folder, { cacheControl: false })
  }

  const answerPage: AnswerPage = (request, reply, { head, status = 200 } = {}) => {
    if (isElsewhere(request)) {
      return reply
        .header('cache-control', 'no-store')
        .redirect(`${directory.origin}${request.url}`, 302)
    }
    reply.headers(headers)
    if (!isBuilt) {
      const text = reply.code(503).header('cache-control', 'no-store')
      return text.type('text/plain; charset=utf-8').send(NOT_BUILT)
    }
    reply.type('text/html; charset=utf-8')
    const page = head === undefined ? built : writeHead(built, head)
    if (status === 200) return sendPacked(request, reply, toPackedBody(page), REVALIDATE)
    return reply.code(status).header('cache-control', 'no-store').send(page)
  }

  return {
    isBuilt,
    answerPage,
    publicPages,
    async install(app) {
      const asPage = { config: { isPage: true } }
      app.get('/', asPage, (request, reply) => answerPage(request, reply, { head: home }))
      // A browser that opens a payment comes here from the facilitator's route.
      for (const path of [...PLAIN_PAGES, '/payments/*', '/buyers/*']) {
        app.get(path, asPage, (request, reply) => answerPage(request, reply))
      }
      if (!isBuilt) return
      await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true })
      const assets = new Set(filesIn(`${folder}/${ASSETS}`))
      app.get<{ Params: { '*': string } }>(`/${ASSETS}/*`, (request, reply) => {
        const name = request.params['*']
        // This comes before any header is set, because a 404 must not be kept for a year.
        if (!assets.has(name)) return reply.callNotFound()
        return send(reply, `${ASSETS}/${name}`, FOREVER)
      })
      for (const file of filesIn(folder)) {
        if (file === PAGE) continue
        app.get(`/${file}`, (_request, reply) => send(reply, file, REVALIDATE))
      }
    },
  }
}

function homeHead(directoryUrl: string): PageHead {
  const { origin } = new URL(directoryUrl)
  const url = `${origin}/`
  const service = { '@context': 'https://schema.org', '@type': 'Service', name: 'Arcus', url }
  return {
    title: 'Arcus',
    description: TAGLINE,
    url,
    image: `${origin}/card.png`,
    data: { ...service, description: TAGLINE, serviceType: 'Directory of paid HTTP APIs' },
  }
}

/** Returns the names of the files without their compressed copies. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !COMPRESSED.test(entry.name))
    .map(({ name }) => name)
}

/**
 * Returns the facts about this deployment that the console needs. `taken` are the tokens of each network, in the order of
 * the settings: listings are about the first network.
 */
export function toConsoleSettings(
  config: Config,
  taken: readonly (readonly TakenAsset[])[],
  paidChecks: boolean,
): ConsoleSettings {
  return {
    version,
    baseUrl: config.baseUrl,
    directoryUrl: config.directoryUrl,
    devnet: config.devnet,
    tryIt: config.tryIt,
    paidChecks,
    networks: config.networks.map(({ network, chainId, publicRpcUrls, explorerUrl }, i) => {
      const assets = taken[i] ?? []
      const [asset] = assets
      if (asset === undefined) throw new Error(`no token of ${network} was read`)
      return {
        network,
        chainId,
        name: networks[network].name,
        listed: i === 0,
        nativeCurrency: { name: 'USDC', symbol: 'USDC', decimals: 18 },
        walletRpcUrls: publicRpcUrls,
        explorerUrl: explorerUrl ?? null,
        asset,
        assets,
      }
    }),
    buybackAddress: config.buybackAddress ?? null,
    identityRegistry: config.identityRegistry,
    activityRetentionDays: config.activityRetentionDays,
    minAmount: config.minAmount.least.toString(),
  }
}

const consoleOperation: Operation = {
  id: 'getConsoleSettings',
  tag: 'Service',
  summary: 'Facts about this deployment for pages and wallets',
  answers: { 200: 'Nothing in it is secret.' },
}

/** Adds `GET /api/console`. */
export function consoleSettingsRoute(app: FastifyInstance, settings: ConsoleSettings): void {
  app.get('/api/console', describedAs(consoleOperation), (_request, reply) =>
    reply.header('cache-control', 'no-cache').send(settings),
  )
}
