import type { Address, Hex } from 'viem'

/** Every limit on a rating, and on the answer of the owner. */
export const ratingLimits = {
  score: { min: 0, max: 100 },
  /** Visible ASCII and inner blanks. */
  tag: { maxChars: 32 },
  /** https. */
  link: { maxChars: 300 },
  answer: { minChars: 1, maxChars: 500 },
} as const

export const RATING_PRIMARY_TYPE = 'Rating'

/** EIP-712 types of a rating. Nothing on chain reads it, so its domain has no contract: it is that of listings. */
export const ratingTypes = {
  Rating: [
    { name: 'audience', type: 'string' },
    { name: 'network', type: 'string' },
    { name: 'asset', type: 'address' },
    { name: 'payer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
    { name: 'resource', type: 'string' },
    { name: 'toolName', type: 'string' },
    { name: 'score', type: 'uint8' },
    { name: 'tag', type: 'string' },
    { name: 'link', type: 'string' },
    { name: 'issuedAt', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
  ],
} as const

/** The message as it is sent and kept. */
export interface RatingJson {
  /** Origin of the directory, so that no other deployment can use the message. */
  audience: string
  /** CAIP-2. */
  network: string
  asset: Address
  /** The signer. */
  payer: Address
  /** The nonce of the authorization that paid; one of Permit2 as 32 bytes. */
  nonce: Hex
  /** The URL of the endpoint, as it is listed. */
  resource: string
  /** Empty for what is no tool. */
  toolName: string
  score: number
  /** A word on what the score is about; may be empty. */
  tag: string
  /** A place to read more; may be empty. */
  link: string
  /** Unix seconds. */
  issuedAt: number
  deadline: number
}

/** Returns the typed data for the wallet of the payer to sign. */
export function ratingTypedData(chainId: number, message: RatingJson) {
  return {
    domain: { name: 'Arcus', version: '1', chainId },
    types: ratingTypes,
    primaryType: RATING_PRIMARY_TYPE,
    message: {
      ...message,
      issuedAt: BigInt(message.issuedAt),
      deadline: BigInt(message.deadline),
    },
  } as const
}
