import type { FastifyRequest } from 'fastify'
import type { RpcObserver } from '../chain/rpc.js'
import type { Answered, SettleResult, VerifyAnswer } from './answers.js'
import { noRelayerEvents, type RelayerEvents } from './relayer/outcomes.js'

/** Metrics and traces: they are given what happens, and change nothing. No method may throw. */
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
  /** An attempt to make old payments small failed. */
  shrinkFailed(): void
}

export const silentObserver: FacilitatorObserver = {
  rpc: () => undefined,
  relayer: () => noRelayerEvents,
  claimed() {},
  verified() {},
  settled() {},
  shrinkFailed() {},
}
