import { randomBytes } from 'node:crypto'
import type { routes } from '@arcus/protocol/answers/routes'
import {
  hashBody,
  listingTypedData,
  toListingWriteJson,
} from '@arcus/protocol/listing/listing-write'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import { type Address, bytesToHex, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { aChannel, anAccount, asset, network } from '../test/support/a-channel.js'
import { aSignedPayment } from '../test/support/a-signed-payment.js'
import { LARGE_WORDS, largeEndpoints } from './large-listing.js'

/** What an attacker knows of the service. All of it is public, or belongs to keys that cost nothing. It is sent to a process as JSON. */
export interface AttackWorld {
  /** The origin that signatures are for. */
  audience: string
  chainId: number
  /** A large listing, and the ids of its endpoints. The attacker may be its owner. */
  merchantId: string
  endpointIds: readonly number[]
  owner: Address
  revision: number
  /** The origin of the server that the listed endpoints are at. */
  sellerOrigin: string
  /** The cookie of a session of that owner: anybody who lists something can sign in. */
  session: string
  /** A payment that settled, as the chain shows it. */
  payment: {
    payer: Address
    nonce: Hex
    paymentId: string
    /** It settled this payment and many others. */
    transaction: Hex
    /** The endpoint that was paid for. */
    resource: string
  }
  /** The terms of the hosted endpoints, as their 402 has them, by path. */
  hosted: Readonly<Record<string, HostedTerms>>
  /** Keys of accounts that hold the price of one call of the dearest hosted endpoint each. */
  purses: readonly Hex[]
}

export interface HostedTerms {
  accepts: readonly Record<string, unknown>[]
  resource: unknown
  extensions: unknown
}

/** A request as it is sent. */
export interface DearRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string
}

/**
 * Makes the request of a route that costs the service most processor time, out of all that a stranger may send. Requests with
 * other numbers differ, so that no cache answers them. A stranger has no money, and no key that means anything to the
 * operator, but any number of new keys.
 */
type Dear = (world: AttackWorld, number: number) => DearRequest | Promise<DearRequest>

/** The limits of a body, in bytes: of any route, of a save, of any other write, of a tried call, and of a message of MCP. */
const BODY_BYTES = { usual: 262_144, save: 524_288, write: 32_768, tried: 98_304, mcp: 65_536 }
/** Rows of a claim, the most that are taken. */
const CLAIM_ROWS = 150
/** Seconds that a message is valid for, the most that are taken. */
const DEADLINE_SECONDS = 600
/** Compressing an answer is work too, and brotli is the dearest encoding. */
const compressed = { 'accept-encoding': 'br' }

const of = ({ merchantId }: AttackWorld) => `/api/merchants/${merchantId}`
const ofEndpoint = (world: AttackWorld, number: number) =>
  `${of(world)}/endpoints/${world.endpointIds[number % world.endpointIds.length]}`
const ofPayment = ({ payment: { payer, nonce } }: AttackWorld) =>
  `/payments/${network}/${payer}/${nonce}`

/** The most that a read of activity can be asked for. */
const LONGEST = 'range=30d'

export const dearest = {
  'GET /supported': () => get('/supported'),
  'POST /verify': async () => post('/verify', await invented.refund()),
  'POST /settle': () => post('/settle', invented.claim()),
  'GET /payments/{network}/{payer}/{nonce}': (world) => get(ofPayment(world)),
  'GET /payments/{network}/{payer}/{nonce}/attestation': (world) =>
    get(`${ofPayment(world)}/attestation`),
  'GET /payments/{network}/{payer}/{nonce}/receipt': (world) => get(`${ofPayment(world)}/receipt`),
  'GET /payments/{transaction}': ({ payment }) => get(`/payments/${payment.transaction}`),
  'GET /payments/status/{paymentId}': ({ payment }) => get(`/payments/status/${payment.paymentId}`),

  // The words are in every endpoint of the large listing, and no two requests have the same ones.
  'GET /discovery/resources': ({ merchantId }, number) =>
    get(`/discovery/resources?merchant=${merchantId}&limit=100&q=${twoWords(number)}`, compressed),
  'GET /discovery/search': (_, number) =>
    get(`/discovery/search?limit=100&query=${sentence(number)}`, compressed),
  // A stream of changes sends the whole catalog to anybody, page after page.
  'GET /discovery/changes': () =>
    get('/discovery/changes?limit=100', { ...compressed, accept: 'text/event-stream' }),
  // Each part of a path may be a parameter of some template.
  'GET /discovery/status': ({ sellerOrigin }, number) =>
    get(`/discovery/status?resource=${sellerOrigin}/${'a/'.repeat(950)}${number}`),
  // The URL may not be called, which spares the attacker the allowance of calls.
  'POST /discovery/validate': ({ audience }) =>
    post('/discovery/validate', filled({ url: `${audience}/x`, method: 'POST' }, BODY_BYTES.usual)),
  'GET /api/endpoints': (_, number) =>
    get(`/api/endpoints?limit=100&query=${sentence(number)}`, compressed),

  'GET /api/merchants': () => get('/api/merchants', compressed),
  'GET /api/owners/{address}/merchants': ({ owner }) => get(`/api/owners/${owner}/merchants`),
  'GET /api/payees/{address}': ({ owner }) => get(`/api/payees/${owner}`),
  'GET /api/signing': () => get('/api/signing', compressed),
  'GET /api/merchants/{id}': (world) => get(of(world), compressed),
  'PUT /api/merchants/{id}': async (world, number) => save(world, number),
  'DELETE /api/merchants/{id}': (world) => unreadable('DELETE', world, ''),
  'POST /api/merchants/{id}/owner-offer': (world) => unreadable('POST', world, '/owner-offer'),
  'POST /api/merchants/{id}/owner-acceptance': (world) =>
    unreadable('POST', world, '/owner-acceptance'),
  'POST /api/merchants/{id}/payto-confirmation': (world) =>
    unreadable('POST', world, '/payto-confirmation'),
  'PUT /api/merchants/{id}/agent': (world) => unreadable('PUT', world, '/agent'),
  'GET /api/merchants/{id}/history': (world) => get(`${of(world)}/history?limit=100`, compressed),
  'GET /api/merchants/{id}/openapi.json': (world) => get(`${of(world)}/openapi.json`, compressed),
  'GET /api/merchants/{id}/llms.txt': (world) => get(`${of(world)}/llms.txt`, compressed),
  'GET /badge/{merchant}.svg': ({ merchantId }) => get(`/badge/${merchantId}.svg`, compressed),

  // All endpoints of the merchant are read before the allowance of calls is asked.
  'POST /api/merchants/{id}/probe': (world) => post(`${of(world)}/probe`, '{}'),
  'GET /api/merchants/{id}/endpoints/{endpoint}/health': (world, number) =>
    get(`${ofEndpoint(world, number)}/health?days=90`, compressed),
  'GET /api/merchants/{id}/endpoints/{endpoint}/prices': (world, number) =>
    get(`${ofEndpoint(world, number)}/prices`, compressed),
  'GET /api/merchants/{id}/endpoints/{endpoint}/checks': (world, number) =>
    get(`${ofEndpoint(world, number)}/checks`, compressed),
  'POST /api/merchants/{id}/check-request': (world) => unreadable('POST', world, '/check-request'),
  'POST /api/try': ({ merchantId, endpointIds: [endpointId] }) =>
    post('/api/try', filledInput({ merchantId, endpointId }, BODY_BYTES.tried)),

  'GET /api/merchants/{id}/activity': (world) => getAsOwner(world, `/activity?${LONGEST}`),
  'GET /api/merchants/{id}/activity/breakdown': (world) =>
    getAsOwner(world, `/activity/breakdown?${LONGEST}`),
  'GET /api/merchants/{id}/activity/table': (world) =>
    getAsOwner(world, `/activity/table?${LONGEST}&limit=200&state=failed`),
  'GET /api/merchants/{id}/activity.csv': (world) => getAsOwner(world, `/activity.csv?${LONGEST}`),
  'GET /api/merchants/{id}/stats': (world) => get(`${of(world)}/stats`),
  'GET /api/stats': () => get('/api/stats'),
  'GET /api/explore': () => get('/api/explore', compressed),
  // Nobody paid so much, so that the read looks through as many payments as it may.
  'GET /api/payments': (_, number) =>
    get(`/api/payments?limit=100&minAmount=${10n ** 30n + BigInt(number)}`, compressed),
  'GET /api/payments.csv': () => get('/api/payments.csv', compressed),
  'GET /api/settlements/stream': () => get('/api/settlements/stream'),
  'GET /api/merchants/{id}/events': (world) => getAsOwner(world, '/events?limit=200'),
  'GET /api/merchants/{id}/hooks': (world) => getAsOwner(world, '/hooks'),
  'PUT /api/merchants/{id}/hooks': (world) => unreadable('PUT', world, '/hooks'),
  'DELETE /api/merchants/{id}/hooks': (world) => unreadable('DELETE', world, '/hooks'),
  'POST /api/merchants/{id}/hooks/check': (world) => unreadableAsOwner(world, '/hooks/check'),
  'POST /api/merchants/{id}/hooks/test': (world) => unreadableAsOwner(world, '/hooks/test'),

  'GET /api/session/nonce': () => get('/api/session/nonce'),
  'POST /api/session': () => post('/api/session', filled({ message: '' }, BODY_BYTES.write)),
  'GET /api/session': ({ session }) => get('/api/session', { cookie: session }),
  // An unknown one, because the session of the owner is needed for the other routes.
  'DELETE /api/session': ({ session }, number) => ({
    method: 'DELETE',
    path: '/api/session',
    headers: { cookie: `${session.split('=', 1)[0]}=${number}` },
  }),

  'GET /.well-known/x402': () => get('/.well-known/x402', compressed),
  'GET /openapi.json': () => get('/openapi.json'),
  'GET /docs': () => get('/docs'),
  'GET /health': () => get('/health'),
  'GET /ready': () => get('/ready'),
  'GET /ready/details': () => get('/ready/details'),
  'GET /api/console': () => get('/api/console'),
  'GET /api/status': () => get('/api/status'),
  'GET /metrics': () => get('/metrics'),
} satisfies Record<keyof typeof routes, Dear>

/** The same of what the service answers and the table of routes does not name: another protocol, what is sold, and pages. */
export const dearestElsewhere = {
  'POST /mcp': (_, number) => mcpSearch(number),
  'POST /hosted/summary': (world, number) => summary(world, number),
  'GET /hosted/fees': (world) => fees(world),
  'GET /': () => getPage('/'),
  'GET /merchants/{merchant}': ({ merchantId }) => getPage(`/merchants/${merchantId}`),
  'GET /robots.txt': () => get('/robots.txt'),
  'GET /sitemap.xml': () => get('/sitemap.xml', compressed),
} satisfies Record<string, Dear>

/** By method and path of the route. */
export const dear: Readonly<Record<string, Dear>> = { ...dearest, ...dearestElsewhere }

function get(path: string, headers: DearRequest['headers'] = {}): DearRequest {
  return { method: 'GET', path, headers }
}

function getPage(path: string): DearRequest {
  return get(path, { ...compressed, accept: 'text/html' })
}

function getAsOwner(world: AttackWorld, path: string): DearRequest {
  return get(of(world) + path, { ...compressed, cookie: world.session })
}

function send(
  method: DearRequest['method'],
  path: string,
  body: string,
  headers: DearRequest['headers'] = {},
): DearRequest {
  return { method, path, headers: { 'content-type': 'application/json', ...headers }, body }
}

function post(path: string, body: string, headers?: DearRequest['headers']): DearRequest {
  return send('POST', path, body, headers)
}

/** Returns JSON of so many bytes that takes longest to read: members with names of their own. */
function junk(bytes: number): string {
  const members: string[] = []
  for (let length = 2; ; ) {
    const member = `"${members.length.toString(36)}":[]`
    length += member.length + 1
    if (length > bytes) return `{${members.join(',')}}`
    members.push(member)
  }
}

/** Returns an object as JSON with a `body` that makes it as long as the limit. */
function filled(members: object, bytes: number): string {
  const text = JSON.stringify(members).slice(0, -1)
  return `${text},"body":${junk(bytes - text.length - 10)}}`
}

function filledInput(members: object, bytes: number): string {
  const text = JSON.stringify(members).slice(0, -1)
  return `${text},"input":{"body":${junk(bytes - text.length - 21)}}}`
}

/** Makes a write whose envelope is right and whose body is read, and then refused. */
function unreadable(
  method: DearRequest['method'],
  world: AttackWorld,
  path: string,
  bytes = BODY_BYTES.write,
): DearRequest {
  const now = nowSeconds()
  const message = {
    action: 'listing.update',
    audience: world.audience,
    merchantId: world.merchantId,
    owner: world.owner,
    payTo: world.owner,
    bodyHash: random(32),
    revision: world.revision + 1,
    nonce: random(32),
    issuedAt: now,
    deadline: now + DEADLINE_SECONDS,
  }
  return send(method, of(world) + path, filled({ message, signature: random(65) }, bytes))
}

function unreadableAsOwner(world: AttackWorld, path: string): DearRequest {
  const body = filled({ url: 'https://example.com', id: 'hook_AAAAAAAAAAAAAAAA' }, BODY_BYTES.write)
  return post(of(world) + path, body, { cookie: world.session })
}

/** A listing of the largest size, which all saves have, and its hash. */
let largest: { text: string; hash: Hex } | undefined

/** Makes a save by a new key that is right in everything, so that nothing but a quota refuses it. */
async function save(world: AttackWorld, number: number): Promise<DearRequest> {
  const { sellerOrigin, audience, chainId } = world
  if (largest === undefined) {
    // Some bytes are left for message and signature.
    const endpoints = largeEndpoints(sellerOrigin, BODY_BYTES.save - 2_000)
    const listing = { name: 'Large', description: '', payTo: world.owner, endpoints }
    largest = { text: JSON.stringify(listing), hash: hashBody(listing) }
  }
  const signer = anAccount()
  const merchantId = `dear-${number}-${random(4).slice(2)}`
  const now = nowSeconds()
  const typedData = listingTypedData(chainId, {
    action: 'listing.create',
    audience,
    merchantId,
    owner: signer.address,
    payTo: world.owner,
    bodyHash: largest.hash,
    revision: 1n,
    nonce: random(32),
    issuedAt: BigInt(now),
    deadline: BigInt(now + DEADLINE_SECONDS),
  })
  const signature = await signer.signTypedData(typedData)
  const message = JSON.stringify(toListingWriteJson(typedData.message))
  const body = `{"message":${message},"signature":"${signature}","body":${largest.text}}`
  return send('PUT', `/api/merchants/${merchantId}`, body)
}

const words = LARGE_WORDS.split(' ')

/** Two words that every endpoint of the large listing has. */
function twoWords(number: number): string {
  const [first, second] = [number % words.length, Math.floor(number / words.length)]
  return `${words[first]}+${words[(first + 1 + second) % words.length]}`
}

/** A sentence that nothing has in full, of common syllables and one that nobody wrote, so that the looser search looks at everything. */
function sentence(number: number): string {
  return `${twoWords(number)}+e+t+o+n+s+r+h+d+l+u+c+zq${number.toString(36)}`
}

function mcpSearch(number: number): DearRequest {
  const query = sentence(number).replaceAll('+', ' ')
  const params = { name: 'search_resources', arguments: { query, limit: 50 } }
  const message = JSON.stringify({ jsonrpc: '2.0', id: number, method: 'tools/call', params })
  const accept = 'application/json, text/event-stream'
  // Blanks are allowed around JSON, and are read.
  return post('/mcp', message.padEnd(BODY_BYTES.mcp), { accept })
}

/** The text that takes longest to be cut into sentences. */
const SUMMARIZED = JSON.stringify({ text: `${'\n'.repeat(19_999)}a`, sentences: 20 })

/**
 * Pays for a summary out of a purse that holds its price once. Any number of payments of that purse are valid until the first
 * one settles. Each second has a purse of its own: a stranger without any money reaches no handler.
 */
async function summary(world: AttackWorld, number: number): Promise<DearRequest> {
  const purse = world.purses[Math.floor(number / CALLS_OF_A_PURSE) % world.purses.length]
  const signer = privateKeyToAccount(purse as Hex)
  const payment = await hostedPayment(world, '/hosted/summary', signer)
  return post('/hosted/summary', SUMMARIZED, { 'payment-signature': payment })
}

const CALLS_OF_A_PURSE = 90

/** Pays for the fees out of a purse that is empty, which is found out on the chain. */
async function fees(world: AttackWorld): Promise<DearRequest> {
  const payment = await hostedPayment(world, '/hosted/fees', anAccount())
  return get('/hosted/fees', { 'payment-signature': payment })
}

async function hostedPayment(
  { hosted }: AttackWorld,
  path: string,
  signer: ReturnType<typeof anAccount>,
): Promise<string> {
  const terms = hosted[path]
  const accepted = terms?.accepts.find(({ scheme }) => scheme === 'exact')
  if (terms === undefined || accepted === undefined) throw new Error(`no terms of ${path}`)
  const { resource, extensions } = terms
  const signed = await aSignedPayment({
    from: signer.address,
    signer,
    to: accepted.payTo as Address,
    value: BigInt(accepted.amount as string),
  })
  const { payload } = signed.paymentPayload
  const presented = { x402Version: 2, accepted, payload, resource, extensions }
  return encodePaymentSignatureHeader(presented as never)
}

/** Payments through channels that nobody opened. */
const invented = {
  /** A claim, which needs no key at all. */
  claim(): string {
    const receiver = random(20)
    const asked = {
      scheme: 'batch-settlement',
      network,
      asset,
      amount: '0',
      payTo: receiver,
      maxTimeoutSeconds: 0,
      extra: {},
    }
    const claims = inventedRows(random(20), receiver)
    const payload = { type: 'claim', claims, claimAuthorizerSignature: random(65) }
    return JSON.stringify({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: asked, payload },
      paymentRequirements: asked,
    })
  },
  /** A refund of a channel of new keys, with as many claims as may go before it. */
  async refund(): Promise<string> {
    const channel = aChannel()
    const body = await channel.refund('1000', '0', '1000')
    Object.assign(body.paymentPayload.payload, {
      claims: inventedRows(channel.config.receiverAuthorizer, channel.receiver),
      claimAuthorizerSignature: random(65),
    })
    return JSON.stringify(body)
  },
}

function inventedRows(receiverAuthorizer: Address, receiver: Address) {
  return Array.from({ length: CLAIM_ROWS }, () => ({
    voucher: {
      channel: {
        payer: random(20),
        payerAuthorizer: random(20),
        receiver,
        receiverAuthorizer,
        token: asset,
        withdrawDelay: 900,
        salt: random(32),
      },
      maxClaimableAmount: '900000',
    },
    signature: `${random(64)}1b`,
    totalClaimed: '900000',
  }))
}

function random(bytes: number): Hex {
  return bytesToHex(randomBytes(bytes))
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}
