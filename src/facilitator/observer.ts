import type { FastifyRequest } from 'fastify'
import type { RpcObserver } from '../chain/rpc.js'
import type { Answered, SettleResult, VerifyAnswer } from './answers.js'
import { noRelayerEvents, type RelayerEvents } from './relayer/outcomes.js'
import type { ScreeningObserver } from './screening/screening.js'

/** Metrics and traces: they are given what happens, and change nothing. What a method throws is logged. */
export interface FacilitatorObserver {
  /** Returns the observer of the calls of one network's nodes. */
  rpc(network: string): RpcObserver | undefined
  /** Returns the observer of one network's transactions. */
  relayer(network: string): RelayerEvents
  /** A request has claimed a payment, which the relayer has not got yet. */
  claimed(request: FastifyRequest, settlementId: string): void
  /** Verify took `seconds`; `answer` is `undefined` where it failed with an error. */
  verified(body: unknown, answer: Answered<VerifyAnswer> | undefined, seconds: number): void
  /** Settle took `seconds`; `result` is `undefined` where it failed with an error. */
  settled(body: unknown, result: SettleResult | undefined, seconds: number): void
  screening: ScreeningObserver
}

export const silentObserver: FacilitatorObserver = {
  rpc: () => undefined,
  relayer: () => noRelayerEvents,
  claimed() {},
  verified() {},
  settled() {},
  screening: { refused() {}, asked() {} },
}

/** Returns an observer, and all that it makes, whose faults keep no payment from being sent or answered. */
export function shielded<Observer>(
  observer: Observer,
  log: { error(details: object, message: string): void },
): Observer {
  if (typeof observer === 'function') {
    const call = (...args: unknown[]) => {
      try {
        return shielded(observer(...args), log)
      } catch (err) {
        log.error({ err }, 'an observer failed')
        return undefined
      }
    }
    return call as Observer
  }
  if (typeof observer !== 'object' || observer === null) return observer
  return new Proxy(observer, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      return shielded(typeof member === 'function' ? member.bind(target) : member, log)
    },
  })
}
