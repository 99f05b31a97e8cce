import type { Address, Hex } from 'viem'
import { decodeAggregate3, encodeAggregate3, multicall3Address, toQuantity } from '../chain/abi.js'
import { parseQuantity } from '../chain/parse-quantity.js'
import type { Rpc } from '../chain/rpc.js'
import {
  decodeRevert,
  isRevert,
  RpcResponseError,
  RpcUnavailableError,
  revertText,
} from '../chain/rpc-errors.js'

export interface Call {
  to: Address
  data: Hex
}

/** How one member fared when its transaction was simulated. */
export type Fate =
  | { ok: true }
  /** The token said why; a member without words ran out of gas or out of room. */
  | { ok: false; revert: string | undefined }

const SIMULATION_TIMEOUT_MS = 3_000

/** Wraps several calls into one Multicall3 transaction in which each may fail alone; one stays as it is. */
export function toTransaction(calls: readonly Call[]): Call {
  const [only] = calls
  if (calls.length === 1 && only !== undefined) return only
  return { to: multicall3Address, data: encodeAggregate3(calls) }
}

/** Simulates a plain call and gives the gas it takes. Throws `RpcUnavailableError`. */
export async function simulateSingle(
  rpc: Rpc,
  from: Address,
  call: Call,
  gasCap: bigint,
): Promise<{ ok: true; gas: bigint } | { ok: false; revert: string | undefined }> {
  try {
    const gas = await rpc.request('eth_estimateGas', [{ from, ...call, gas: toQuantity(gasCap) }], {
      timeoutMs: SIMULATION_TIMEOUT_MS,
    })
    return { ok: true, gas: parseQuantity(gas) }
  } catch (error) {
    if (isRevert(error)) return { ok: false, revert: revertText(error) }
    // The sender's purse or the cap, not the payment: sending will tell, and has its own repair.
    if (error instanceof RpcResponseError) return { ok: true, gas: gasCap }
    throw error
  }
}

/** Simulates a batch under the very gas limit it will have. Throws `RpcUnavailableError`. */
export async function simulateBatch(
  rpc: Rpc,
  from: Address,
  calls: readonly Call[],
  gasLimit: bigint,
): Promise<Fate[]> {
  const transaction = { from, ...toTransaction(calls), gas: toQuantity(gasLimit) }
  try {
    const answer = await rpc.request('eth_call', [transaction, 'latest'], {
      timeoutMs: SIMULATION_TIMEOUT_MS,
    })
    const members = decodeAggregate3(answer as Hex)
    if (members.length !== calls.length) throw new RpcUnavailableError('a simulation lacks members')
    return members.map(({ ok, data }) => (ok ? { ok } : { ok, revert: decodeRevert(data) }))
  } catch (error) {
    if (error instanceof RpcResponseError)
      return calls.map(() => ({ ok: false, revert: undefined }))
    throw error
  }
}
