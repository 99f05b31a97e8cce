import { type ListingBody, listingBody, listingLimits, merchantIdKind } from 'arcus-client/listing'
import { canonicalJson } from 'arcus-client/listing-write'
import type { Address } from 'viem'
import type { TokenBuckets } from '../../http/limiter.js'
import type {
  Endpoint,
  ListedEndpoint,
  ListingChange,
  ListingStore,
  Merchant,
} from '../../store/listings.js'
import { parametersIn } from '../../x402/calls.js'
import { type Stablecoin, tokenOfPrice } from '../../x402/currencies.js'
import { listingFault, missingFault, WriteFault } from './faults.js'
import type { SavedEndpoint } from './save-probes.js'
import type { SchemaCheck, SchemaVerdict } from './schema-check.js'
import {
  type CheckedWrite,
  confirmationBody,
  emptyBody,
  linkBody,
  offerBody,
  offerFault,
  ownerFault,
  payToFault,
  replayFault,
  staleFault,
  type WriteCheck,
} from './signed-write.js'
import type { WriteQuota } from './write-limits.js'

/** Every write that an owner can make. Each takes the request as it was sent and the IP it came from, and throws a `WriteFault`. */
export interface Writes {
  save(
    merchantId: string,
    request: unknown,
    ip: string,
  ): Promise<{ merchant: Merchant; isNew: boolean }>
  delete(merchantId: string, request: unknown): Promise<Merchant>
  offerOwner(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  acceptOwner(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  linkAgent(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  confirmPayTo(merchantId: string, request: unknown, ip: string): Promise<Merchant>
}

interface WritesOptions {
  listings: Pick<ListingStore, 'findMerchant' | 'endpointsOf' | 'applyWrite'>
  check: WriteCheck
  schemas: Pick<SchemaCheck, 'check'>
  /** Probes the endpoints of a save; `known` are those listed before. */
  probe: (
    endpoints: readonly ListedEndpoint[],
    payTo: Address,
    known: readonly Endpoint[],
  ) => Promise<SavedEndpoint[]>
  allowance: TokenBuckets
  quota: WriteQuota
  /** CAIP-2. */
  network: string
  /** All that are settled on it; the first is the default one. */
  tokens: readonly Stablecoin[]
  /** Unix milliseconds. */
  now: () => number
}

export function createWrites(options: WritesOptions): Writes {
  const { listings, check, schemas, probe, allowance, quota, network, tokens } = options
  const nowSeconds = () => Math.floor(options.now() / 1000)

  /** Applies a change. The store checks owner, revision and nonce again, in the transaction of the change. */
  async function apply({ write }: CheckedWrite<unknown>, change: ListingChange): Promise<Merchant> {
    const result = await listings.applyWrite({ ...write, acceptedAt: nowSeconds() }, change)
    if (result.state === 'applied') return result.merchant
    if (result.state === 'replayed') throw replayFault()
    if (result.state === 'stale') throw staleFault(result.revision)
    if (result.state === 'notOwner') throw ownerFault(false)
    if (result.state === 'notOffered') throw offerFault()
    if (result.state === 'notPayTo') throw payToFault()
    throw missingFault(await listings.findMerchant(write.merchantId))
  }

  /** Reserves quota for what a write keeps, and gives it back if nothing was kept. */
  async function kept<Result>(
    { write }: CheckedWrite<unknown>,
    ip: string,
    make: () => Promise<Result>,
  ): Promise<Result> {
    const { owner, action, message, body, signature } = write
    const bytes = message.length + Buffer.byteLength(body) + signature.length
    const undo = await quota({ owner, bytes, ip, isSave: isSaving(action) })
    try {
      return await make()
    } catch (error) {
      undo()
      throw error
    }
  }

  /** Refuses an id that nobody may choose, unless it exists: found in payments, or entered by the operator. */
  async function checkId(merchantId: string): Promise<void> {
    const kind = merchantIdKind(merchantId)
    if (kind === 'chosen') return
    if (kind !== 'malformed' && (await listings.findMerchant(merchantId)) !== undefined) return
    const { minChars, maxChars } = listingLimits.merchantId
    const text =
      kind === 'malformed'
        ? `The merchant id must be ${minChars} to ${maxChars} of a-z, 0-9 and inner hyphens.`
        : 'The merchant id is reserved; choose another.'
    throw new WriteFault('invalid_merchant_id', text)
  }

  return {
    async save(merchantId, request, ip) {
      await checkId(merchantId)
      const checked = await check(request, {
        merchantId,
        actions: { fresh: 'listing.create', standing: 'listing.update' },
        schema: listingBody,
        payToOf: ({ payTo }) => payTo,
      })
      const { endpoints: written, ...described } = checked.body
      const endpoints = inTokens(written, tokens)
      const [{ asset }] = endpoints as [ListedEndpoint]
      const known = checked.merchant === undefined ? [] : await listings.endpointsOf(merchantId)
      const isOwned = checked.merchant?.owner != null
      await checkSchemas(endpoints, isOwned ? known : [], schemas)
      const waitSeconds = allowance.take(checked.write.owner, endpoints.length)
      if (waitSeconds > 0) throw paceFault(waitSeconds)
      const merchant = await kept(checked, ip, async () => {
        const probed = await probe(endpoints, described.payTo, known)
        return apply(checked, {
          kind: 'save',
          merchant: { ...described, network, asset },
          endpoints: probed,
        })
      })
      return { merchant, isNew: checked.write.action === 'listing.create' }
    },

    async delete(merchantId, request) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'listing.delete' },
        schema: emptyBody,
      })
      return apply(checked, { kind: 'delete' })
    },

    async offerOwner(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'owner.offer' },
        schema: offerBody,
      })
      const { to } = checked.body
      const now = nowSeconds()
      // The store takes an offer back by an offer to the owner that is over at once.
      if (to === checked.write.owner) {
        const text = 'body.to is the owner already; offer to somebody else, or null to take back.'
        throw new WriteFault('offer_to_self', text)
      }
      const offer =
        to === null
          ? { to: checked.write.owner, until: now }
          : { to, until: now + listingLimits.offer.openSeconds }
      return kept(checked, ip, () => apply(checked, { kind: 'offer', ...offer }))
    },

    async acceptOwner(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'owner.accept' },
        schema: emptyBody,
      })
      return kept(checked, ip, () => apply(checked, { kind: 'accept' }))
    },

    async linkAgent(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'agent.link' },
        schema: linkBody,
      })
      const { agentId } = checked.body
      return kept(checked, ip, () => apply(checked, { kind: 'link', agentId }))
    },

    async confirmPayTo(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'payto.confirm' },
        schema: confirmationBody,
      })
      const { owner } = checked.body
      if (checked.merchant?.owner == null) throw ownerFault(true)
      // The revision is signed too, so the owner cannot change before the store applies this.
      if (owner !== null && owner !== checked.merchant.owner) {
        throw listingFault([{ path: 'owner', message: 'must be the owner that the merchant has' }])
      }
      return kept(checked, ip, () => apply(checked, { kind: 'confirm', owner }))
    },
  }
}

/** Returns the endpoints with the tokens of their prices. Throws a `WriteFault` for a token that is not settled. */
function inTokens(
  endpoints: ListingBody['endpoints'],
  tokens: readonly Stablecoin[],
): ListedEndpoint[] {
  return endpoints.map(({ currency, ...endpoint }, index) => {
    const found = tokenOfPrice({ asset: endpoint.asset, currency }, tokens)
    if ('problem' in found) {
      throw listingFault([{ path: `endpoints[${index}].${found.member}`, message: found.problem }])
    }
    const { address, symbol } = found.token
    return { ...endpoint, asset: address, symbol }
  })
}

function isSaving(action: string): boolean {
  return action === 'listing.create' || action === 'listing.update'
}

function paceFault(waitSeconds: number): WriteFault {
  const text = `This owner had many endpoints checked just now; try again in ${waitSeconds} seconds.`
  return new WriteFault('too_many_saves', text, undefined, { 'retry-after': String(waitSeconds) })
}

/** The part of an endpoint that says how it is called. */
type Called = Pick<ListedEndpoint, 'method' | 'inputSchema' | 'example'>

/**
 * Checks that each input schema compiles and that the example satisfies it. `accepted` are endpoints whose pair passed
 * before. Throws a `WriteFault`.
 */
export async function checkSchemas(
  endpoints: readonly Called[],
  accepted: readonly Called[],
  { check }: Pick<SchemaCheck, 'check'>,
): Promise<void> {
  const known = new Set(accepted.map(pairOf))
  for (const [index, endpoint] of endpoints.entries()) {
    const { inputSchema } = endpoint
    if (inputSchema === null || known.has(pairOf(endpoint))) continue
    const verdict = await check(inputSchema, endpoint.example[parametersIn(endpoint.method)])
    if (!verdict.ok) throw schemaFault(index, endpoint, verdict)
  }
}

function schemaFault(
  index: number,
  endpoint: Called,
  { fault, message }: Extract<SchemaVerdict, { ok: false }>,
): WriteFault {
  if (fault === 'busy') {
    const text = 'Too many schemas wait to be checked; try again.'
    return new WriteFault('busy', text, undefined, { 'retry-after': '2' })
  }
  const member = parametersIn(endpoint.method)
  const issue =
    fault === 'value'
      ? { path: `example.${member}`, message: `must satisfy inputSchema: ${message}` }
      : { path: 'inputSchema', message: `must be JSON Schema 2020-12 that can be used: ${message}` }
  return listingFault([{ ...issue, path: `endpoints[${index}].${issue.path}` }])
}

function pairOf({ inputSchema, example }: Called): string {
  return inputSchema === null ? '' : canonicalJson([inputSchema, example])
}
