import canonicalize from 'canonicalize'
import { type Address, type Hex, keccak256, stringToBytes } from 'viem'

/** Every action that an owner can sign. */
export const listingActions = [
  'listing.create',
  'listing.update',
  'listing.delete',
  'owner.offer',
  'owner.accept',
  'agent.link',
  'payto.confirm',
  'hook.set',
  'hook.delete',
  'check.request',
] as const

export type ListingAction = (typeof listingActions)[number]

export const LISTING_PRIMARY_TYPE = 'ListingWrite'

/** EIP-712 types of a signed write. Nothing on chain reads it, so its domain has no contract. */
export const listingWriteTypes = {
  ListingWrite: [
    { name: 'action', type: 'string' },
    { name: 'audience', type: 'string' },
    { name: 'merchantId', type: 'string' },
    { name: 'owner', type: 'address' },
    { name: 'payTo', type: 'address' },
    { name: 'bodyHash', type: 'bytes32' },
    { name: 'revision', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
  ],
} as const

interface ListingDomain {
  name: 'Arcus'
  version: '1'
  chainId: number
}

export function listingDomain(chainId: number): ListingDomain {
  return { name: 'Arcus', version: '1', chainId }
}

/** The message as it is signed. */
export interface ListingWrite {
  action: ListingAction
  /** Origin of the directory, so that no other deployment can use the message. */
  audience: string
  merchantId: string
  /** The signer. */
  owner: Address
  /** The address that the listing pays once the write is accepted, in clear for the wallet to show. */
  payTo: Address
  /** `hashBody` of the body that goes with it. */
  bodyHash: Hex
  /** One above the merchant's; 1 for a new one. */
  revision: bigint
  /** Random. An owner can use a nonce once. */
  nonce: Hex
  /** Unix seconds. */
  issuedAt: bigint
  deadline: bigint
}

/** The message in JSON, as it is sent and as the history keeps it. */
export interface ListingWriteJson extends Omit<ListingWrite, 'revision' | 'issuedAt' | 'deadline'> {
  revision: number
  issuedAt: number
  deadline: number
}

export interface ListingTypedData {
  domain: ListingDomain
  types: typeof listingWriteTypes
  primaryType: typeof LISTING_PRIMARY_TYPE
  message: ListingWrite
}

/** Returns the typed data for the wallet to sign. */
export function listingTypedData(chainId: number, message: ListingWrite): ListingTypedData {
  return {
    domain: listingDomain(chainId),
    types: listingWriteTypes,
    primaryType: LISTING_PRIMARY_TYPE,
    message,
  }
}

export function toListingWrite(json: ListingWriteJson): ListingWrite {
  return {
    ...json,
    revision: BigInt(json.revision),
    issuedAt: BigInt(json.issuedAt),
    deadline: BigInt(json.deadline),
  }
}

export function toListingWriteJson(message: ListingWrite): ListingWriteJson {
  return {
    ...message,
    revision: Number(message.revision),
    issuedAt: Number(message.issuedAt),
    deadline: Number(message.deadline),
  }
}

/**
 * Returns the one spelling of a JSON value (RFC 8785): sorted keys, no blanks. Throws a `TypeError` for what is not JSON,
 * and for strings that are not Unicode.
 */
export function canonicalJson(value: unknown): string {
  let text: string | undefined
  try {
    text = canonicalize(value)
  } catch (cause) {
    throw new TypeError('the value has no canonical JSON', { cause })
  }
  if (text === undefined) throw new TypeError('the value has no canonical JSON')
  return text
}

/** Returns the keccak256 of the UTF-8 of the canonical JSON, by which a signed message names its body. */
export function hashBody(body: unknown): Hex {
  return keccak256(stringToBytes(canonicalJson(body)))
}
