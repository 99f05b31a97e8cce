import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createListingClient } from '@arcus/client/listing-client'
import type { MerchantView, SigningAnswer } from '@arcus/protocol/answers/listings'
import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import type { NonceAnswer } from '@arcus/protocol/answers/session'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { Address, Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { devnetMerchant, devnetPayer } from '../src/devnet/accounts.js'
import { mintUsdc } from '../src/devnet/fixtures.js'
import type { ActivityStore } from '../src/directory/store/activity.js'
import { createActivityStore } from '../src/directory/store/sql/activity.js'
import { openDatabase, type SqliteDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../src/sql/sqlite/group-commit.js'
import { createSql } from '../src/sql/sqlite/sql.js'
import { asset, network } from '../test/support/a-channel.js'
import { aSignedPayment } from '../test/support/a-signed-payment.js'
import { anActivity } from '../test/support/an-activity.js'
import type { AttackWorld, HostedTerms } from './dearest.js'
import { largeEndpoints } from './large-listing.js'
import type { Side } from './sides.js'

const MERCHANT_ID = 'large-listing'
/** Bytes of the JSON of the endpoints of the large listing. */
const LISTING_BYTES = 390_000
/** Every save is an entry of the history, which has a megabyte on a page. */
const SAVES = 3
/** Payments that settle at once, so that one transaction has as many of them as possible. */
const PAYMENTS = 100
/** Rows of the month of the large listing. */
const ROWS = 10_000
const PAYERS = 3_000
const HISTORY_DAYS = 90
const PRICES = 100
/** The price of a summary, the dearest of the hosted endpoints. */
const PURSE_ATOMIC = 20_000n
const PURSES = 10
const HOSTED = { '/hosted/summary': 'POST', '/hosted/fees': 'GET' } as const

const owner = devnetMerchant

export interface DearWorld {
  world: AttackWorld
  stop(): void
}

/**
 * Gives a service all that makes the reads of a listing dear: a listing of a hundred large endpoints with a long history, a
 * month of payments, and one transaction of many payments. The service may run over the file meanwhile.
 */
export async function prepareDearWorld(side: Side, file: string): Promise<DearWorld> {
  const seller = await startSeller()
  try {
    return { world: await prepare(side, file, seller), stop: () => void seller.close() }
  } catch (error) {
    seller.close()
    throw error
  }
}

async function prepare(side: Side, file: string, seller: Server): Promise<AttackWorld> {
  const { url } = side
  const { port } = seller.address() as AddressInfo
  const sellerOrigin = `http://127.0.0.1:${port}`
  const signing = await readJson<SigningAnswer>(`${url}/api/signing`)
  const { audience } = signing
  const listed = await saveListing(url, audience, sellerOrigin)
  const endpointIds = listed.endpoints.map(({ state }) => state.id)
  const resource = `${sellerOrigin}/e0`
  const payments = await settleMany(url, resource)
  const database = openDatabase(file)
  // It waits where the service writes at the same time.
  const commit = createGroupCommit(database)
  await fillMonth(createActivityStore(createSql(database, commit)), listed)
  await fillHistory(database, commit, endpointIds)
  await commit.close()
  database.close()
  return {
    audience,
    chainId: signing.domain.chainId,
    merchantId: MERCHANT_ID,
    endpointIds,
    owner: owner.address,
    revision: listed.revision,
    sellerOrigin,
    session: await signIn(url),
    ...(await findPayment(url, payments, resource)),
    hosted: await readHostedTerms(url),
    purses: await fillPurses(side.chainUrl),
  }
}

/** Starts a server that asks a tenth of a cent for everything, at which all endpoints of the listing are. */
async function startSeller(): Promise<Server> {
  const requirement = {
    scheme: 'exact',
    network,
    amount: '1000',
    asset,
    payTo: owner.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  const server = createServer((request, response) => {
    const required = {
      x402Version: 2,
      resource: { url: `http://${request.headers.host}${request.url}` },
      accepts: [requirement],
    }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It must not keep the bench from ending.
  return server.unref()
}

async function saveListing(url: string, audience: string, origin: string): Promise<MerchantView> {
  const client = createListingClient({ directoryUrl: url, signer: owner.account, audience })
  const endpoints = largeEndpoints(origin, LISTING_BYTES)
  for (let i = 1; ; i++) {
    const listing = { name: 'Large', description: `Saved ${i} times.`, payTo: owner.address }
    const saved = await client.save(MERCHANT_ID, { ...listing, endpoints })
    if (i === SAVES) return saved
  }
}

/** Settles payments for a resource all at once. Returns their nonces. */
async function settleMany(url: string, resource: string): Promise<Hex[]> {
  const wish = { from: devnetPayer.address, to: owner.address, value: 1_000n }
  const payments = await Promise.all(Array.from({ length: PAYMENTS }, () => aSignedPayment(wish)))
  return Promise.all(
    payments.map(async (payment) => {
      const paymentPayload = { ...payment.paymentPayload, resource: { url: resource } }
      const answer = await fetch(`${url}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...payment, paymentPayload }),
      })
      const text = await answer.text()
      if (JSON.parse(text).success !== true) throw new Error(`a payment did not settle: ${text}`)
      return payment.paymentPayload.payload.authorization.nonce as Hex
    }),
  )
}

/** Finds a payment, and the transaction that settled most of all. */
async function findPayment(
  url: string,
  nonces: readonly Hex[],
  resource: string,
): Promise<Pick<AttackWorld, 'payment'>> {
  const payer = devnetPayer.address
  const found = await Promise.all(
    nonces.map((nonce) => readJson<PaymentStatus>(`${url}/payments/${network}/${payer}/${nonce}`)),
  )
  const counts = new Map<Hex, number>()
  for (const { transaction } of found) {
    if (transaction !== null) counts.set(transaction, (counts.get(transaction) ?? 0) + 1)
  }
  const [transaction] = [...counts].sort(([, a], [, b]) => b - a)[0] as [Hex, number]
  const { paymentId, nonce } = found[0] as PaymentStatus
  return { payment: { payer, nonce, paymentId, transaction, resource } }
}

/** Writes a month of payments of the listing, as the recorder would have. */
async function fillMonth(
  store: Pick<ActivityStore, 'append'>,
  listed: MerchantView,
): Promise<void> {
  const ids = listed.endpoints.map(({ state }) => state.id)
  const now = Date.now()
  const rows = Array.from({ length: ROWS }, (_, i) =>
    anActivity({
      at: now - (ROWS - i) * Math.floor((29 * 86_400_000) / ROWS),
      merchantId: MERCHANT_ID,
      endpointId: ids[i % ids.length] as number,
      resource: `https://shop.example/e${i % ids.length}`,
      payTo: owner.address.toLowerCase() as Address,
      payer: `0x${((i * 131) % PAYERS).toString(16).padStart(40, '0')}`,
      amount: 1_000n,
      settlementId: `month-${i}`,
      transaction: `0x${i.toString(16).padStart(64, '0')}`,
    }),
  )
  await store.append(rows)
}

/** Writes what probes found in every hour of ninety days, and as many prices as are kept. */
async function fillHistory(
  database: SqliteDatabase,
  commit: GroupCommit,
  endpointIds: readonly number[],
): Promise<void> {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600
  const addHour = database.prepare(
    'INSERT OR IGNORE INTO probe_hours (endpoint_id, hour, verdict, count, ms) VALUES (?, ?, ?, 1, 120)',
  )
  const addPrice = database.prepare(
    "INSERT OR IGNORE INTO endpoint_prices (endpoint_id, source, at, amount, symbol) VALUES (?, 'asked', ?, ?, 'USDC')",
  )
  const fill = (id: number) => {
    for (let i = 1; i < HISTORY_DAYS * 24; i++) {
      addHour.run(id, hour - i * 3_600, i % 9 === 0 ? 'unreachable' : 'live')
    }
    for (let i = 1; i < PRICES; i++) addPrice.run(id, hour - i * 60, String(1_000 + i))
  }
  for (const id of endpointIds) await commit.write(() => fill(id))
}

async function signIn(url: string): Promise<string> {
  const terms = await readJson<NonceAnswer>(`${url}/api/session/nonce`)
  const { nonce, domain, uri, chainId } = terms
  const { address } = owner
  const issuedAt = new Date()
  const siwe = { address, nonce, domain, uri, chainId, version: '1', issuedAt } as const
  const message = createSiweMessage(siwe)
  const signature = await owner.account.signMessage({ message })
  const answer = await fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message, signature }),
  })
  if (!answer.ok) throw new Error(`the owner could not sign in: ${await answer.text()}`)
  return String(answer.headers.get('set-cookie')).split(';')[0] as string
}

/** Reads what the hosted endpoints ask for. They are ready some moments after the service is. */
async function readHostedTerms(url: string): Promise<Record<string, HostedTerms>> {
  const terms: Record<string, HostedTerms> = {}
  for (const [path, method] of Object.entries(HOSTED)) {
    const body = method === 'POST' ? '{"text":"A text."}' : null
    const headers = { 'content-type': 'application/json' }
    for (let header: string | null = null; header === null; ) {
      const answer = await fetch(url + path, { method, ...(body && { body, headers }) })
      header = answer.headers.get('payment-required')
      if (header === null) await sleep(200)
      else terms[path] = decodePaymentRequiredHeader(header) as unknown as HostedTerms
    }
  }
  return terms
}

async function fillPurses(chainUrl: string): Promise<Hex[]> {
  const purses = Array.from({ length: PURSES }, generatePrivateKey)
  for (const purse of purses) {
    await mintUsdc(chainUrl, privateKeyToAccount(purse).address, PURSE_ATOMIC)
  }
  return purses
}

async function readJson<Answer>(url: string): Promise<Answer> {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
