import type { Address, Hex } from 'viem'

/** An endpoint and the address it is paid at: a listing may come and go, and its ratings stay. */
export interface RatedEndpoint {
  /** CAIP-2. */
  network: string
  /** Lower-case. */
  payTo: Address
  /** The URL of the endpoint, as it is listed. */
  url: string
  /** Empty for what is no tool. */
  toolName: string
}

export interface NewRating extends RatedEndpoint {
  /** The id of the settlement: a payment is rated once. */
  id: string
  /** Lower-case. */
  payer: Address
  /** 0 to 100. */
  score: number
  /** The amount that was paid, in atomic units. */
  amount: string
  transaction: Hex
  /** The typed message as it was signed, as JSON. */
  message: string
  signature: Hex
  /** Unix seconds. */
  ratedAt: number
}

export interface KeptRating extends NewRating {
  /** Rises with each rating. */
  number: number
  /** Why the operator hides it. */
  hiddenReason: string | null
  /** The answer of the owner, with its Unix seconds. */
  answer: { text: string; at: number } | null
}

/** Figures of the ratings of one endpoint that are not hidden. */
export interface RatingFigures {
  /** The mean score, with one decimal. */
  average: number
  count: number
  payers: number
  /** Share of the ratings that came from the payer with the most, 0 to 1. */
  topPayerShare: number
}

export interface RatingStore {
  /** Keeps a rating, unless its payment is rated already; resolves with whether it was kept. */
  add(rating: NewRating): Promise<boolean>
  find(id: string): Promise<KeptRating | undefined>
  /** Those that are not hidden, newest first, before this number. */
  list(endpoint: RatedEndpoint, before: number | undefined, limit: number): Promise<KeptRating[]>
  figuresOf(endpoint: RatedEndpoint): Promise<RatingFigures | undefined>
  /** Keeps the one answer of the owner; false when there is one. */
  answer(id: string, answer: { text: string; at: number }): Promise<boolean>
  /** Hides a rating for this reason, or shows it again; false when there is none. */
  setHidden(id: string, reason: string | null): Promise<boolean>
}
