import type { NetworkId } from '@arcus/protocol/x402/networks'
import type { FacilitatorClient } from '@x402/core/server'
import type { ResourceServerExtension, SettleResponse } from '@x402/core/types'
import type { FastifyRequest } from 'fastify'
import type { Channels } from './channels.js'
import type { Price } from './price.js'
import type { Refunds } from './refunds.js'

/** Payment schemes, in the order in which a route offers them: most buyers take the first one they know. */
export const schemes = ['upto', 'exact', 'batch-settlement'] as const

export type Scheme = (typeof schemes)[number]

/** Options of the plugin. What a route states itself takes precedence. */
export interface X402Options {
  /** Base URL of the facilitator, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** Address that is paid. It is required here or on each priced route. */
  payTo?: string
  /** Default `eip155:5042`. */
  network?: NetworkId
  /** Prices by route, `"GET /quote"` or `"/quote"` for every method: the URL as declared, prefixes included. */
  routes?: Record<string, Price | RoutePrice>
  /** Origin under which buyers reach this server, such as `https://api.example.com`. Default: the origin of each request. */
  baseUrl?: string
  /** Seconds for which a signed payment stays valid. It must outlast the handler. Default 300. */
  maxTimeoutSeconds?: number
  /** Size limit of a streamed body that is held back until it is paid for. Default 4 MiB. */
  maxHeldBytes?: number
  /** Returns to buyers what metered calls did not use. Made by `createRefunds`. */
  refunds?: Refunds
  /** Adds `batch-settlement` to the schemes of every route. Made by `createChannels`. */
  channels?: Channels
  /** Extensions of the official packages, such as `offer-receipt` and `sign-in-with-x`. They run where a route declares them. */
  extensions?: readonly ResourceServerExtension[]
  /** Longest wait for one answer of the facilitator. Default 90 000. */
  facilitatorTimeoutMs?: number
  /** Name shown to buyers and catalogs: at most 32 printable ASCII characters. */
  serviceName?: string
  /** At most five, 32 characters each. */
  tags?: string[]
  iconUrl?: string
}

/**
 * Returns the price of a request, which has been read and validated by then. It is asked for each call, also of those who
 * do not pay, so it should be cheap. What it throws is answered as an error of the handler, and nothing is sold.
 */
export type PriceOfRequest = (request: FastifyRequest) => Price | Promise<Price>

/** One of several ways to pay for a route. What it leaves out is taken from the route, then from the options. */
export interface WayToPay {
  /** An EVM network. One that is not Arc, or a price that is paid through another contract than its token, needs `facilitator`, takes `exact` alone, and has no metered prices. */
  network?: `eip155:${number}`
  price: Price | PriceOfRequest
  payTo?: string
  /** The facilitator that verifies and settles this way to pay, in place of the one of the options. */
  facilitator?: string | FacilitatorClient
}

/** Options of one route, in `config.x402` or in `routes`, in place of a bare price. */
export interface RoutePrice {
  /** The price of a call, or a function that returns it; `accepts` takes its place. */
  price?: Price | PriceOfRequest
  /** Several ways to pay. Most buyers take the first one that they can. */
  accepts?: readonly WayToPay[]
  /**
   * `metered`: the price is a ceiling. By `upto` and `batch-settlement` only the amount that the handler charges is
   * taken. By `exact` the whole price is settled and the rest is returned, which needs `refunds`. Default `fixed`.
   */
  pricing?: 'fixed' | 'metered'
  /**
   * Default: `exact`, and `batch-settlement` where there are `channels`. A metered price also has `upto`, and `exact` only
   * where there are `refunds`. `upto` is offered while the facilitator settles it.
   */
  schemes?: readonly Scheme[]
  payTo?: string
  network?: NetworkId
  maxTimeoutSeconds?: number
  description?: string
  /** Media type of the paid body, such as `application/json`. */
  mimeType?: string
  /**
   * `hold` (default): a streamed body is held until it is complete, then settled, then sent. A body longer than
   * `maxHeldBytes` fails and is not charged. `settle-first`: the payment is settled when the first bytes are there,
   * then the body is sent as it comes.
   */
  streaming?: 'hold' | 'settle-first'
  maxHeldBytes?: number
  /** Declarations for the extensions of the options, by their keys, as `declareSIWxExtension()` makes them. */
  extensions?: Record<string, unknown>
  /** `false` keeps the route out of catalogs. */
  discoverable?: boolean
  /** Example of the query parameters of a GET, or of the body of a POST. */
  example?: unknown
  /** JSON Schema of the parameters or the body, for a route whose own `schema` is missing or is no JSON Schema. */
  inputSchema?: object
  /** Example of the paid body. */
  outputExample?: unknown
}

/** The payment of a request, as the handler of a priced route finds it in `request.payment`. */
export interface Payment {
  payer: string
  /** Atomic units of the asset. USDC has a million to the dollar, EURC a million to the euro. */
  amount: string
  asset: string
  network: string
  payTo: string
  /** `exact`, `upto` or `batch-settlement`. */
  scheme: string
  /** Names the payment, with `network` and `payer`, at `/payments` of the facilitator; `undefined` for a voucher. */
  nonce: string | undefined
  /** How the payment moves the asset: `eip3009` or `permit2`. */
  method: 'eip3009' | 'permit2'
  /**
   * Sets how much of a metered price is charged, in its own money such as `"$0.004"` or `"€0.004"`, or in atomic units.
   * The last call counts. With zero nothing is settled. Throws for more than the price, and for other money.
   */
  charge(amount: string): void
  /**
   * Settles before the handler has ended, which otherwise happens automatically afterwards. It is needed before
   * anything is written to `reply.raw`. Throws with a `statusCode` when the payment does not settle. A handler that
   * fails after this call is charged all the same.
   */
  settle(): Promise<SettleResponse>
  /**
   * Gives a fixed price by `exact` back, whole or in part, in its own money or in atomic units; settles before, where that
   * has not happened yet. Resolves to the atomic units that the buyer gets once the refund is on disk: it is tried until it
   * lands, once for each payment. Throws without `refunds` in the options, and for more than the price.
   */
  refund(amount?: string): Promise<string>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on priced routes, once the payment has been verified. `null` where an extension let the call through without one. */
    payment: Payment | null
  }
  interface FastifyContextConfig {
    /** The price of a call. */
    x402?: Price | RoutePrice
  }
}
