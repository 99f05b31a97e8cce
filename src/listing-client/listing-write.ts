import type { Address, Hex } from 'viem'

/** What an owner can say. */
export const listingActions = [
  'listing.create',
  'listing.update',
  'listing.delete',
  'owner.offer',
  'owner.accept',
  'agent.link',
  'payto.confirm',
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

export interface ListingDomain {
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
  /** Origin of the directory: another deployment cannot use the message. */
  audience: string
  merchantId: string
  /** Who signs. */
  owner: Address
  /** Where the listing's money goes once the write is accepted, in clear for the wallet to show. */
  payTo: Address
  /** `hashBody` of the body that goes with it. */
  bodyHash: Hex
  /** One above the merchant's; 1 for a new one. */
  revision: bigint
  /** Random; serves an owner once. */
  nonce: Hex
  /** Unix seconds. */
  issuedAt: bigint
  deadline: bigint
}

/** The same in JSON, as it is sent and as the history tells it. */
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

/** What a wallet is asked to sign. */
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
