import type { SigningAnswer } from '@arcus/protocol/answers/listings'
import { listingLimits } from '@arcus/protocol/listing/listing'
import {
  LISTING_PRIMARY_TYPE,
  type ListingAction,
  listingDomain,
  listingWriteTypes,
} from '@arcus/protocol/listing/listing-write'
import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import type { SharedPorts } from '../ports.js'

const merchantPath = '/api/merchants/{id}'
const listing =
  '{ name, description?, payTo, endpoints: [{ url, method, title, description?, pricing?, price, asset?, currency?, tags?, example?, inputSchema?, output? }] }'

/** The route, the form of the body and the signer of each action. */
export const writeActions = {
  'listing.create': {
    method: 'PUT',
    path: merchantPath,
    body: listing,
    signer:
      'anybody, who becomes the owner; for a merchant found in payments, the key of its payTo',
  },
  'listing.update': { method: 'PUT', path: merchantPath, body: listing, signer: 'the owner' },
  'listing.delete': { method: 'DELETE', path: merchantPath, body: '{}', signer: 'the owner' },
  'owner.offer': {
    method: 'POST',
    path: `${merchantPath}/owner-offer`,
    body: '{ to: address or null }',
    signer: 'the owner',
  },
  'owner.accept': {
    method: 'POST',
    path: `${merchantPath}/owner-acceptance`,
    body: '{}',
    signer: 'the address it was offered to',
  },
  'agent.link': {
    method: 'PUT',
    path: `${merchantPath}/agent`,
    body: '{ agentId: decimal digits or null }',
    signer: 'the owner',
  },
  'payto.confirm': {
    method: 'POST',
    path: `${merchantPath}/payto-confirmation`,
    body: '{ owner: the address that owns the merchant, or null }',
    signer: 'the key of payTo, as message.owner',
  },
  'hook.set': {
    method: 'PUT',
    path: `${merchantPath}/hooks`,
    body: '{ id: of the webhook, or null for a new one; url, types: [event]; since: number of an event, or null }',
    signer: 'the owner; the message leaves the revision as it is',
  },
  'hook.delete': {
    method: 'DELETE',
    path: `${merchantPath}/hooks`,
    body: '{ id: of the webhook }',
    signer: 'the owner; the message leaves the revision as it is',
  },
  'check.request': {
    method: 'POST',
    path: `${merchantPath}/check-request`,
    body: '{ endpoint: its id }',
    signer: 'the owner, three times a day; the message leaves the revision as it is',
  },
} as const satisfies Record<
  ListingAction,
  { method: 'PUT' | 'POST' | 'DELETE'; path: string; body: string; signer: string }
>

interface SigningTermsOptions extends Pick<SharedPorts, 'network' | 'checksum' | 'now'> {
  audience: string
  chainId: number
  tokens: readonly Stablecoin[]
}

/** Creates the terms that a client needs to sign a write; `time.now` is the time of the call. */
export function createSigningTerms({
  audience,
  network,
  chainId,
  tokens,
  checksum,
  now,
}: SigningTermsOptions) {
  const assets = tokens.map(({ address, symbol, currency }) => ({
    address: checksum(address),
    symbol,
    currency,
  }))
  const fixed: Omit<SigningAnswer, 'time'> = {
    domain: listingDomain(chainId),
    primaryType: LISTING_PRIMARY_TYPE,
    types: listingWriteTypes,
    audience,
    network,
    asset: checksum((tokens[0] as Stablecoin).address),
    assets,
    request: '{ message, signature, body }',
    bodyHash: 'keccak256 of the UTF-8 of the canonical JSON (RFC 8785) of body',
    revision: 'one above that of GET /api/merchants/{id}; 1 for a new merchant',
    actions: writeActions,
    limits: listingLimits,
  }
  return (): SigningAnswer => ({
    ...fixed,
    time: {
      now: Math.floor(now() / 1000),
      skewSeconds: listingLimits.issuedAt.skewSeconds,
      maxDeadlineSeconds: listingLimits.deadline.maxAheadSeconds,
    },
  })
}
