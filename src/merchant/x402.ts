import type { FacilitatorClient } from '@x402/core/server'
import type { SettleResponse } from '@x402/core/types'
import type { FastifyPluginAsync } from 'fastify'
import type { Network } from '../x402/networks.js'
import type { Channels } from './channels.js'
import { install } from './install.js'
import type { Price } from './price.js'
import type { Refunds } from './refunds.js'
import type { Scheme } from './schemes.js'

/**
 * Fastify plugin that sells routes by x402: `await app.register(x402, { facilitator, payTo })`, and a price in the
 * `config` of a route. It applies to the scope it is registered in, and to those within that are made after it.
 */
export const x402: FastifyPluginAsync<X402Options> = Object.assign(install, {
  // As fastify-plugin does it: the routes beside the plugin are meant, not those within.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'arcus-x402',
  [Symbol.for('plugin-meta')]: { name: 'arcus-x402', fastify: '5.x' },
})

/** How the plugin is set up; what a route states itself goes before it. */
export interface X402Options {
  /** Base URL of the facilitator, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** Address that is paid; needed here or on each priced route. */
  payTo?: string
  /** Default `eip155:5042`. */
  network?: Network
  /** Prices by route, `"GET /quote"` or `"/quote"` for every method: the URL as declared, prefixes included. */
  routes?: Record<string, Price | RoutePrice>
  /** Origin under which buyers reach this server, as `https://api.example.com`; else the request's own is told. */
  baseUrl?: string
  /** How long a signed payment stays valid; must outlast the handler. Default 300. */
  maxTimeoutSeconds?: number
  /** Longest streamed body held back until it is paid for. Default 4 MiB. */
  maxHeldBytes?: number
  /** Gives back what metered calls did not use; of `createRefunds`. */
  refunds?: Refunds
  /** Adds `batch-settlement` to what every route offers; of `createChannels`. */
  channels?: Channels
  /** Longest wait for one answer of the facilitator. Default 90 000. */
  facilitatorTimeoutMs?: number
  /** Told to buyers and catalogs: at most 32 printable ASCII characters. */
  serviceName?: string
  /** At most five, 32 characters each. */
  tags?: string[]
  iconUrl?: string
}

/** What a route may state in `config.x402`, or in `routes`, instead of a bare price. */
export interface RoutePrice {
  price: Price
  /**
   * `metered`: the price is a ceiling. By `batch-settlement` only what the handler does `charge` is taken; by `exact`
   * it is settled and the rest given back, which needs `refunds`. Default `fixed`.
   */
  pricing?: 'fixed' | 'metered'
  /** Default both where there are `channels`, else `exact`. */
  schemes?: readonly Scheme[]
  payTo?: string
  network?: Network
  maxTimeoutSeconds?: number
  description?: string
  /** Of the paid body, as `application/json`. */
  mimeType?: string
  /**
   * What happens to a streamed body. `hold` (default): it is held until complete, then settled, then sent; longer than
   * `maxHeldBytes` it fails uncharged. `settle-first`: settled when the first bytes are there, then sent as it comes.
   */
  streaming?: 'hold' | 'settle-first'
  maxHeldBytes?: number
  /** `false` keeps the route out of catalogs. */
  discoverable?: boolean
  /** An example of the query parameters of a GET, of the body of a POST. */
  example?: unknown
  /** JSON Schema of these, where the route's own `schema` is missing or no JSON Schema. */
  inputSchema?: object
  /** An example of the paid body. */
  outputExample?: unknown
}

/** What the handler of a priced route finds in `request.payment`. */
export interface Payment {
  payer: string
  /** Units of the asset; of Arc's stablecoin there are a million to the dollar. */
  amount: string
  asset: string
  network: string
  payTo: string
  /** `exact` or `batch-settlement`. */
  scheme: string
  /**
   * What of a metered price was used, in dollars as `"$0.004"` or in units of the asset; the last word counts. For
   * `"$0"` nothing is settled at all. Throws for more than the price.
   */
  charge(amount: string): void
  /**
   * Settles before the handler has ended, which otherwise happens by itself: needed before anything is written to
   * `reply.raw`. Throws with a `statusCode` when the payment does not settle; what happens after it is charged.
   */
  settle(): Promise<SettleResponse>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on priced routes, once the payment has been verified. */
    payment: Payment | null
  }
  interface FastifyContextConfig {
    /** The price of a call. */
    x402?: Price | RoutePrice
  }
}
