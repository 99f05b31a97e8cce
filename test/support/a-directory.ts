import { type Listing, type ListingEndpoint, listingBody } from '@arcus/protocol/listing/listing'
import {
  hashBody,
  type ListingAction,
  type ListingWriteJson,
  listingTypedData,
  toListingWrite,
} from '@arcus/protocol/listing/listing-write'
import { circleTokens, type Stablecoin } from '@arcus/protocol/x402/currencies'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import type { FastifyInstance } from 'fastify'
import { type Address, getAddress, type Hex, zeroAddress } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { createLogger } from '../../src/app/logger.js'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import { loadSignerRecovery } from '../../src/chain/signer-recovery.js'
import type { Token } from '../../src/chain/token.js'
import { publicPages } from '../../src/console/public-pages.js'
import {
  createDirectory,
  type Directory,
  type DirectoryPorts,
  type DirectorySettings,
} from '../../src/directory/directory.js'
import { parseBody } from '../../src/directory/refusals.js'
import type { ListingStore, WrittenEndpoint } from '../../src/directory/store/listings.js'
import { readPayment } from '../../src/facilitator/methods/exact-job.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { installCors, installSecurityHeaders } from '../../src/http/headers.js'
import { type AnswerPage, installNotFound } from '../../src/http/not-found.js'
import { createServer } from '../../src/http/server.js'
import { aChain } from './directory/chain.js'
import { createPayments } from './directory/payments.js'
import { startSellers } from './directory/sellers.js'

export const directoryUrl = 'https://directory.example'
export const baseUrl = 'https://pay.example.com'
export const network = 'eip155:5042'
export const chainId = 5042
const [dollars, ...others] = circleTokens[network]
export const tokens: DirectoryPorts['tokens'] = [toPinned(dollars), ...others.map(toPinned)]
export const asset: Address = tokens[0].address
export const startSeconds = 1_800_000_000

const keccak256 = await createKeccak256()
const recovery = await loadSignerRecovery(keccak256)

/** Returns a token as it is pinned at start. */
function toPinned(token: Stablecoin): Token {
  const domainSeparator = new Uint8Array(32)
  return { ...token, network, chainId, domainSeparator, hasBlocklist: true, hasPause: true }
}

type Stores = ReturnType<typeof openSqliteStores>

export interface DirectoryWish {
  settings?: Partial<DirectorySettings>
  ports?: Partial<DirectoryPorts>
  /** The database of another process; a fresh one in memory otherwise. */
  stores?: Stores
  /** Makes what the listings do in place of what they usually do. */
  listings?: (usual: ListingStore) => Partial<ListingStore>
  /** Leaves it to the test to start the directory. */
  isIdle?: boolean
  answerPage?: AnswerPage
  /** Unix seconds. */
  startSeconds?: number
}

export type TestDirectory = Awaited<ReturnType<typeof startDirectory>>

/** Starts the directory as the process composes it, over its own stores, with a clock, a chain and sellers of the test's. */
export async function startDirectory(wish: DirectoryWish = {}) {
  const clock = aClock(wish.startSeconds ?? startSeconds)
  const disk = { isLow: false }
  const stores = wish.stores ?? openSqliteStores(':memory:')
  const chain = aChain()
  const sellers = startSellers()
  const payments = createPayments({ stores, tokens, clock })
  const directory = createDirectory(
    {
      baseUrl,
      directoryUrl,
      activityRetentionDays: 90,
      newOwnersPerHour: 30,
      identityRegistry: zeroAddress,
      mcpAllowedOrigins: [],
      probeAllowPrivateHosts: true,
      tryIt: true,
      checks: { dailyLimit: 0n, maxAmount: 0n },
      ...wish.settings,
    },
    {
      tokens,
      keccak256,
      recovery,
      checksum: getAddress,
      rpc: chain.rpc,
      stores: {
        ...stores,
        listings: { ...stores.listings, ...wish.listings?.(stores.listings) },
      },
      threadSource: stores.threadSource,
      ownCalls: { isHosted: () => false, around: sellers.around, attach() {} },
      isShared: false,
      isKeeper: () => true,
      isRelayer: () => false,
      refundWallets: new Map(),
      isPayToBlocked: () => false,
      isPayerBlocked: () => false,
      findPayment: payments.find,
      findRefunds: payments.findRefunds,
      readPayment,
      buyer: undefined,
      checkSigner: undefined,
      webhookKey: '0x6b6579',
      operatorWebhook: undefined,
      isDiskLow: () => disk.isLow,
      now: () => clock.ms,
      lookMs: 20,
      log: createLogger({ level: 'silent' }),
      ...wish.ports,
    },
  )
  const app = await serve(directory, wish.answerPage)
  app.addHook('preValidation', async ({ body }) => sellers.note(body))
  app.addHook('onClose', async () => {
    await directory.stop()
    if (wish.stores === undefined) await stores.close()
  })
  if (wish.isIdle !== true) directory.start()
  const signIn = (account: PrivateKeyAccount) => signInTo(app, account, clock)
  return {
    app,
    directory,
    stores,
    store: stores.listings,
    clock,
    disk,
    chain,
    sellers,
    signIn,
    start: directory.start,
    get: (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers }),
    pay: payments.through(directory),
    /** Calls the directory as a client does over the network. */
    fetch: fetchOf(app),
    close: () => app.close(),
  }
}

/** A time that tests move. */
export interface Clock {
  /** Unix milliseconds. */
  ms: number
  /** Whole Unix seconds. */
  seconds: number
}

function aClock(seconds: number): Clock {
  return {
    ms: seconds * 1_000,
    get seconds() {
      return Math.floor(this.ms / 1_000)
    },
    set seconds(value) {
      this.ms = value * 1_000
    },
  }
}

/** Mounts the directory within the edges that the process has. */
async function serve(
  directory: Directory,
  answerPage: AnswerPage = (_request, reply, { status = 200 } = {}) => reply.code(status).send(''),
): Promise<FastifyInstance> {
  const app = createServer({
    logger: createLogger({ level: 'silent' }),
    bodyLimitBytes: 262_144,
    settleWaitSeconds: 30,
    trustProxy: true,
  })
  installSecurityHeaders(app, false)
  installErrorHandling(app)
  installNotFound(app)
  await installCors(app)
  await app.register(directory.plugin, { answerPage, publicPages })
  return app
}

/** Signs in by a message, and returns the cookie. */
export async function signInTo(
  app: FastifyInstance,
  account: Pick<PrivateKeyAccount, 'address' | 'signMessage'>,
  { ms }: Pick<Clock, 'ms'>,
) {
  const { nonce, domain, uri, chainId } = (await app.inject('/api/session/nonce')).json()
  const { address } = account
  const place = { address, nonce, domain, uri, chainId, version: '1' } as const
  const message = createSiweMessage({ ...place, issuedAt: new Date(ms) })
  const payload = { message, signature: await account.signMessage({ message }) }
  const answer = await app.inject({ method: 'POST', url: '/api/session', payload })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return String(answer.headers['set-cookie']).split(';')[0] as string
}

function fetchOf(app: FastifyInstance): typeof fetch {
  return async (url, init = {}) => {
    const { pathname, search } = new URL(String(url))
    const answer = await app.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: pathname + search,
      ...(init.headers && { headers: init.headers as Record<string, string> }),
      ...(init.body == null ? {} : { payload: String(init.body) }),
    })
    const type = String(answer.headers['content-type'])
    const headers = { 'content-type': type }
    return new Response(answer.body, { status: answer.statusCode, headers })
  }
}

export function anEndpoint(wish: Partial<ListingEndpoint> = {}): ListingEndpoint {
  return {
    url: 'https://api.example.com/weather',
    method: 'GET',
    title: 'Weather',
    price: '10000',
    example: { queryParams: { city: 'Lisbon' } },
    ...wish,
  } as ListingEndpoint
}

export function aListing(wish: Partial<Listing> = {}): Listing {
  return {
    name: 'Weather',
    description: 'Of cities',
    payTo: '0x1111111111111111111111111111111111111111',
    endpoints: [anEndpoint()],
    ...wish,
  }
}

/** Returns the endpoints of a listing as the directory keeps them, in dollars. */
export function endpointsOf(listing: Listing): WrittenEndpoint[] {
  return parseBody(listingBody, listing).endpoints.map(({ currency: _, ...endpoint }) => ({
    ...endpoint,
    asset,
    symbol: 'USDC',
  }))
}

export interface SignedRequest {
  message: ListingWriteJson
  signature: Hex
  body: unknown
  chainId?: number
}

let nonces = 0

/** A signed request as an owner's client makes it; `message` and `chain` alter what is signed. */
export async function aSignedWrite(
  account: PrivateKeyAccount,
  wish: {
    action?: ListingAction
    body?: unknown
    message?: Partial<ListingWriteJson>
    chain?: number
  } = {},
): Promise<SignedRequest> {
  const body = wish.body ?? aListing()
  const message: ListingWriteJson = {
    action: wish.action ?? 'listing.create',
    audience: directoryUrl,
    merchantId: 'weather',
    owner: account.address,
    payTo: aListing().payTo,
    bodyHash: hashBody(body),
    revision: 1,
    nonce: `0x${(++nonces).toString(16).padStart(64, '0')}`,
    issuedAt: startSeconds,
    deadline: startSeconds + 600,
    ...wish.message,
  }
  const typedData = listingTypedData(wish.chain ?? chainId, toListingWrite(message))
  return { message, signature: await account.signTypedData(typedData), body }
}

const routes = {
  'listing.create': { method: 'PUT', path: '' },
  'listing.update': { method: 'PUT', path: '' },
  'listing.delete': { method: 'DELETE', path: '' },
  'owner.offer': { method: 'POST', path: '/owner-offer' },
  'owner.accept': { method: 'POST', path: '/owner-acceptance' },
  'agent.link': { method: 'PUT', path: '/agent' },
  'payto.confirm': { method: 'POST', path: '/payto-confirmation' },
  'hook.set': { method: 'PUT', path: '/hooks' },
  'hook.delete': { method: 'DELETE', path: '/hooks' },
  'check.request': { method: 'POST', path: '/check-request' },
} as const

/** Sends a request to the route of its action, or of another. */
export function send(
  { app }: TestDirectory,
  request: SignedRequest | { message?: unknown },
  id = 'weather',
  action?: ListingAction,
) {
  const named = (request as SignedRequest).message?.action
  const { method, path } = routes[action ?? named ?? 'listing.create'] ?? routes['listing.create']
  return app.inject({ method, url: `/api/merchants/${id}${path}`, payload: request })
}
