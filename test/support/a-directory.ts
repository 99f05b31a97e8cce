import { type Listing, type ListingEndpoint, listingBody } from '@arcus/protocol/listing/listing'
import {
  hashBody,
  type ListingAction,
  type ListingWriteJson,
  listingTypedData,
  toListingWrite,
} from '@arcus/protocol/listing/listing-write'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import type { FastifyInstance } from 'fastify'
import { type Address, getAddress, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { createLogger } from '../../src/app/logger.js'
import { loadSignerRecovery } from '../../src/chain/signer-recovery.js'
import { createMerchantView } from '../../src/directory/listings/merchant-view.js'
import { parseBody } from '../../src/directory/listings/refusals.js'
import { writeRoutes } from '../../src/directory/listings/routes.js'
import { createSaveProbes } from '../../src/directory/listings/save-probes.js'
import {
  createSignatureCheck,
  createWriteCheck,
  type IsContractSignature,
} from '../../src/directory/listings/signed-write.js'
import { createSigningTerms } from '../../src/directory/listings/signing-terms.js'
import {
  createSaveAllowances,
  createWriteQuota,
} from '../../src/directory/listings/write-limits.js'
import { createWrites } from '../../src/directory/listings/writes.js'
import type { Probe, ProbeResult } from '../../src/directory/probe/probe.js'
import type { ListedEndpoint, ListingStore } from '../../src/directory/store/listings.js'
import { createListingStore } from '../../src/directory/store/sql/listings.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { createServer } from '../../src/http/server.js'
import { openDatabase } from '../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../src/sql/sqlite/sql.js'

export const directoryUrl = 'https://directory.example'
export const network = 'eip155:5042'
export const chainId = 5042
export const tokens = circleTokens[network]
export const asset: Address = tokens[0].address
export const startSeconds = 1_800_000_000

export interface TestDirectory {
  app: FastifyInstance
  store: ListingStore
  /** Unix seconds, to be moved by tests. */
  clock: { seconds: number }
  disk: { isLow: boolean }
  /** The probe result of each URL, live by default, and the URLs that were called. */
  probes: { results: Map<string, Partial<ProbeResult>>; called: string[]; gate: Promise<void> }
  /** The answer of contract wallets, no by default. */
  contract: { isContractSignature: IsContractSignature }
  close(): Promise<void>
}

/** The routes of writes over the real store in memory, with a clock, endpoints and contract wallets of the test's own. */
export async function startDirectory(
  allowance = { capacity: 1_000, refillMs: 1_000 },
  audience = directoryUrl,
): Promise<TestDirectory> {
  const clock = { seconds: startSeconds }
  const disk = { isLow: false }
  const now = () => clock.seconds * 1000
  const database = openDatabase(':memory:')
  const commit = createGroupCommit(database)
  const store = createListingStore(createSql(database, commit))
  const keccak256 = await createKeccak256()
  const recovery = await loadSignerRecovery(keccak256)
  const contract: TestDirectory['contract'] = { isContractSignature: async () => false }
  const probes: TestDirectory['probes'] = {
    results: new Map(),
    called: [],
    gate: Promise.resolve(),
  }
  const probe: Probe = async ({ url, price }, payTo) => {
    probes.called.push(url)
    await probes.gate
    return { ...live(price, payTo, clock.seconds), ...probes.results.get(url) }
  }
  const checkSignature = createSignatureCheck({
    chainId,
    recovery,
    isContractSignature: (claim) => contract.isContractSignature(claim),
  })
  const writes = createWrites({
    listings: store,
    check: createWriteCheck({
      listings: store,
      audience,
      chainId,
      checkSignature,
      keccak256,
      now,
    }),
    probe: createSaveProbes({
      probe,
      network,
      tokens,
      now,
      random: () => 0.5,
    }),
    allowances: createSaveAllowances(now, {
      ofOwner: allowance,
      ofBlock: { ...allowance, capacity: allowance.capacity * 3 },
    }),
    quota: createWriteQuota({
      listings: store,
      maxNewOwners: 30,
      isDiskLow: () => disk.isLow,
      now,
    }),
    network,
    tokens,
    now,
  })
  const app = createServer({
    logger: createLogger({ level: 'silent' }),
    bodyLimitBytes: 262_144,
    settleWaitSeconds: 30,
    trustProxy: false,
  })
  installErrorHandling(app)
  await app.register(writeRoutes, {
    writes,
    listings: store,
    view: createMerchantView(store, getAddress, now),
    chainId,
    signingTerms: createSigningTerms({
      audience,
      network,
      chainId,
      tokens,
      checksum: getAddress,
      now,
    }),
  })
  return {
    app,
    store,
    clock,
    disk,
    probes,
    contract,
    async close() {
      await app.close()
      await commit.close()
      database.close()
    },
  }
}

export function live(price: bigint, payTo: Address, checkedAt: number): ProbeResult {
  return {
    record: { verdict: 'live', message: 'It asks as listed.', warnings: [], seen: {}, checkedAt },
    accepts: [{ scheme: 'exact', network, amount: price.toString(), payTo, live: true }],
    isDefinite: false,
    extras: { mimeType: 'application/json' },
  }
}

export function anAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
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
export function endpointsOf(listing: Listing): ListedEndpoint[] {
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
  'rating.answer': { method: 'POST', path: '/rating-answer' },
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
