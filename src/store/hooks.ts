import type { Address, Hex } from 'viem'
import type { EventType } from './events.js'

/** The webhook of the operator; all others have ids of their own, and a merchant. */
export const OPERATOR_HOOK = 'operator'

/** The part of a webhook that its owner writes. */
export interface HookSettings {
  id: string
  /** Empty for the operator. */
  merchantId: string
  url: string
  types: readonly EventType[]
}

export interface Hook extends HookSettings {
  /** Hex of random bytes from which the secret is made. */
  seed: string
  /** Names the key with which it is made; empty if none was set. */
  keyId: string
  /** Unix milliseconds, as all times here. */
  createdAt: number
  /** The last event that was delivered or passed over. */
  cursor: number
  /** `null` while there is nothing to deliver. */
  nextAt: number | null
  /** Failed deliveries in a row. */
  failures: number
  failingSince: number | null
  /** Why nothing is delivered any more. */
  parked: string | null
  deliveredAt: number | null
  lastError: string | null
  /** Whether events were dropped from the feed before they were delivered. */
  isLossy: boolean
}

/** A signed message about a webhook; each is accepted once. */
export interface HookWrite {
  merchantId: string
  owner: Address
  nonce: Hex
  /** Unix seconds. */
  deadline: number
}

export type HookResult =
  | { state: 'done'; isNew: boolean }
  | { state: 'replayed' | 'notOwner' | 'missing' | 'full' }

/** Deliveries of a process: those of a hook are made by one worker at a time. */
export interface HookStore {
  ofMerchant(merchantId: string): Promise<Hook[]>
  /**
   * Makes or changes a webhook and lets its deliveries begin anew. A new one hears of what comes from now on. `since` sets
   * the event after which it goes on instead.
   */
  set(
    write: HookWrite,
    hook: HookSettings & Pick<Hook, 'seed' | 'keyId'>,
    bounds: { since: number | null; most: number; now: number },
  ): Promise<HookResult>
  remove(write: HookWrite, id: string, now: number): Promise<HookResult>
  /** Sets the operator's webhook to this URL, or removes it. */
  setOperator(url: string | undefined, now: number): Promise<void>
  /**
   * Hooks whose next delivery is due and that nobody works for, longest due first; those that failed last are apart.
   * `among` keeps those with one of the ids, or those without.
   */
  due(
    now: number,
    limit: number,
    isFailing: boolean,
    among?: { ids: readonly string[]; isIn: boolean },
  ): Promise<Hook[]>
  /** Takes the hook for this worker until then; `undefined` when another one was first. */
  take(id: string, worker: string, now: number, until: number): Promise<Hook | undefined>
  /** Notes a delivery. False when the worker does not hold the hook any more. */
  delivered(id: string, worker: string, cursor: number, now: number): Promise<boolean>
  /** Notes a failure and gives the hook up. Without `nextAt` it is parked for this reason. */
  failed(
    id: string,
    worker: string,
    failure: { error: string; nextAt: number | null; now: number },
  ): Promise<void>
  /** Gives the hook up. It is due again at once, unless the feed has nothing for it. */
  giveUp(hook: Hook, worker: string, now: number): Promise<void>
  /** Frees the hooks of a process that died, where there is only one process. */
  freeAll(): Promise<void>
}
