import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { dayOf } from '../journal/budgets.js'
import type { CustomerStore } from '../journal/customers.js'
import type { PayToAllowed } from '../settings.js'
import type { Standing } from './jobs.js'

/** Knows for which recipients the operator pays gas, and which of them have standing. */
export interface Recipients {
  /** Returns the standing of a payment's recipient, or refuses it. */
  check(payment: { payer: Address; payTo: Address }): Promise<Standing | Rejection>
}

/** So many payers on earlier days, each of whom also paid a recipient that is listed or the operator's, give standing. */
const CUSTOMERS = 3
const MAX_REMEMBERED = 10_000
/** Standing is looked up again after this. A listing that was just saved counts within a second. */
const KNOWN_MS = 30_000
const UNLISTED_MS = 1_000

export function createRecipients(options: {
  network: string
  /** `undefined` allows all. */
  allowed: PayToAllowed | undefined
  /** Accounts of the operator apart from those in the settings. */
  own: readonly Address[]
  /** Returns whether a listing here is proven to be about the address. */
  isListed(payTo: Address): boolean | Promise<boolean>
  customers: CustomerStore
  /** Unix milliseconds. */
  now(): number
}): Recipients {
  const { network, allowed, isListed, customers, now } = options
  const own = new Set([...(allowed?.addresses ?? []), ...options.own].map((it) => it.toLowerCase()))
  const listed = new LRUCache<Address, boolean>({ max: MAX_REMEMBERED })
  const known = new LRUCache<Address, boolean>({ max: MAX_REMEMBERED, ttl: KNOWN_MS })

  async function isProven(payTo: Address): Promise<boolean> {
    const found = listed.get(payTo) ?? (await isListed(payTo))
    if (!listed.has(payTo)) listed.set(payTo, found, { ttl: found ? KNOWN_MS : UNLISTED_MS })
    return found
  }

  /** Keys that only pay each other vouch for nobody: their owner must also have paid somebody who is known. */
  async function hasCustomers(payTo: Address): Promise<boolean> {
    const vouching = new Set<Address>()
    for (const { payer, other } of await customers.othersPaid(network, payTo, dayOf(now()))) {
      if (vouching.size >= CUSTOMERS) break
      if (vouching.has(payer) || payer === payTo) continue
      if (own.has(other) || (await isProven(other))) vouching.add(payer)
    }
    return vouching.size >= CUSTOMERS
  }

  async function isKnown(payTo: Address): Promise<boolean> {
    const found = known.get(payTo) ?? (await hasCustomers(payTo))
    if (!known.has(payTo)) known.set(payTo, found)
    return found
  }

  return {
    async check({ payer, payTo }) {
      // A shop that the operator named also pays money back.
      if (own.has(payTo) || own.has(payer)) return 'own'
      const isListedHere = await isProven(payTo)
      if (allowed === undefined || (allowed.listed && isListedHere)) {
        return isListedHere || (await isKnown(payTo)) ? 'known' : 'none'
      }
      const who = allowed.listed ? 'recipients that are listed here' : 'recipients of its operator'
      return reject(
        'payToNotAllowed',
        `This facilitator settles for ${who} only, not for ${payTo}.`,
      )
    },
  }
}
