import type { Address, Hex } from 'viem'
import { encodeIsValidSignature, selectors, toQuantity } from './abi.js'
import type { Rpc } from './rpc.js'
import { asUnasked, isRevert, revertText } from './rpc-errors.js'

/** The gas a contract wallet's payment may take: its code is a stranger's. */
export const WALLET_GAS_CAP = 600_000n
/** A stranger's code may keep a node busy; past this the node is taken to be out of reach. */
const WALLET_TIMEOUT_MS = 3_000

/** A whole word, as callers on chain decode it, the token among them: a bare selector is no yes to them. */
const YES = selectors.isValidSignature.padEnd(2 + 64, '0')

/** ERC-1271: asks the payer's own code about a signature, as somebody with so much gas would. Throws `RpcUnavailableError`. */
export async function isAcceptedByWallet(
  rpc: Rpc,
  wallet: Address,
  digest: Hex,
  signature: Hex,
  { from, gas }: { from?: Address; gas?: bigint } = {},
): Promise<boolean> {
  const data = encodeIsValidSignature(digest, signature)
  const answer = await callCapped(rpc, { ...(from && { from }), to: wallet, data }, gas)
  return answer.ok && answer.data.slice(0, YES.length) === YES
}

/**
 * Runs the very transfer as the relayer would send it. Gives the revert's text when it fails.
 * Throws `RpcUnavailableError`.
 */
export async function simulateTransfer(
  rpc: Rpc,
  call: { from: Address; to: Address; data: Hex },
): Promise<{ ok: true } | { ok: false; revert: string }> {
  const answer = await callCapped(rpc, call)
  return answer.ok ? { ok: true } : answer
}

async function callCapped(
  rpc: Rpc,
  call: { from?: Address; to: Address; data: Hex },
  gas = WALLET_GAS_CAP,
): Promise<{ ok: true; data: Hex } | { ok: false; revert: string }> {
  try {
    const data = await rpc.request('eth_call', [{ ...call, gas: toQuantity(gas) }, 'latest'], {
      timeoutMs: WALLET_TIMEOUT_MS,
    })
    return { ok: true, data: data as Hex }
  } catch (error) {
    if (isRevert(error)) return { ok: false, revert: revertText(error) }
    throw asUnasked(error)
  }
}
