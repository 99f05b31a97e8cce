import { BaseError, createPublicClient, custom, type PublicClient } from 'viem'
import { createCoalescer } from '../async/coalescer.js'
import type { Rpc, RpcCall, RpcOptions, RpcResult } from './rpc.js'
import { isRevert, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'

/** A node answers this many calls at once; a batch that is under way keeps no other waiting. */
const LIMITS = { maxMembers: 100, maxInFlight: 100, patienceMs: 0 }

/**
 * Makes a viem client over the nodes of a network, for reads that no payment waits for. Calls that are made together travel
 * in one batch. Its errors are viem's; `asked`, `unlessReverted` and `answered` give those of `Rpc`.
 *
 * An answer that is too short, or is no value of its type, is an error. Words after those of the type are ignored, as every
 * compiled caller on chain ignores them. Nobody gains by them: the contracts read here are those of the settings and of the
 * standards, never one that a stranger names, and a node that lies can lie in the right form. What a stranger's contract
 * answers is read elsewhere: signatures by `contract-wallet.ts`, facts of payments by a contract of our own.
 */
export function createChainClient(rpc: Pick<Rpc, 'batch'>, options?: RpcOptions): PublicClient {
  const ask = createCoalescer<RpcCall, RpcResult>({
    ...LIMITS,
    run: (calls) => rpc.batch(calls, options),
  })
  const transport = custom(
    {
      async request({ method, params = [] }) {
        const result = await ask({ method, params })
        if (!result.ok) throw result.error
        return result.value
      },
    },
    { retryCount: 0 },
  )
  // A contract must not be able to send this process to a URL of its own (EIP-3668).
  return createPublicClient({ transport, ccipRead: false })
}

/** Waits for a read. Rejects with `RpcUnavailableError` in place of viem's errors. */
export function asked<Value>(read: Promise<Value>, what: string): Promise<Value> {
  return read.catch((error) => {
    throw unreadable(error, what)
  })
}

/** Waits for a read of a contract; resolves with `undefined` where the contract reverts. Rejects as `asked`. */
export function unlessReverted<Value>(
  read: Promise<Value>,
  what: string,
): Promise<Value | undefined> {
  return read.catch((error) => {
    if (isRevert(rpcErrorOf(error))) return undefined
    throw unreadable(error, what)
  })
}

/** Does as `unlessReverted`, and also resolves with `undefined` where the answer has another shape than the call. */
export function answered<Value>(read: Promise<Value>, what: string): Promise<Value | undefined> {
  return read.catch((error) => {
    const cause = rpcErrorOf(error)
    if (error instanceof BaseError && (cause === undefined || isRevert(cause))) return undefined
    throw unreadable(error, what)
  })
}

/** Returns the error of `Rpc` within an error of viem; `undefined` when the answer itself could not be decoded. */
export function rpcErrorOf(error: unknown): Error | undefined {
  const isOurs = (it: unknown) =>
    it instanceof RpcUnavailableError || it instanceof RpcResponseError
  return error instanceof BaseError ? (error.walk(isOurs) ?? undefined) : undefined
}

function unreadable(error: unknown, what: string): unknown {
  const cause = rpcErrorOf(error)
  if (cause instanceof RpcUnavailableError) return cause
  return error instanceof BaseError
    ? new RpcUnavailableError(`the chain node could not read ${what}`, { cause: error })
    : error
}
