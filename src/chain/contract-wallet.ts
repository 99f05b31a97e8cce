import { isErc6492Signature } from '@arcus/protocol/x402/signature-forms'
import {
  type Address,
  encodeDeployData,
  erc6492SignatureValidatorByteCode,
  type Hex,
  universalSignatureValidatorAbi,
} from 'viem'
import { encodeIsValidSignature, selectors, toQuantity } from './abi.js'
import type { Rpc } from './rpc.js'
import { asUnasked, isRevert, revertText } from './rpc-errors.js'

/** The gas that a contract wallet's payment may take: its code is a stranger's. */
export const WALLET_GAS_CAP = 600_000n
/** A stranger's code may keep a node busy; after this the node counts as out of reach. */
const WALLET_TIMEOUT_MS = 3_000

/** A whole word, as callers on chain decode it, the token among them: they do not accept a bare selector. */
const ACCEPTED = selectors.isValidSignature.padEnd(2 + 64, '0')

/**
 * Asks the payer's own code about a signature (ERC-1271), as a caller with so much gas would. Throws
 * `RpcUnavailableError`.
 */
export async function isAcceptedByWallet(
  rpc: Rpc,
  wallet: Address,
  digest: Hex,
  signature: Hex,
  { from, gas }: { from?: Address | undefined; gas?: bigint } = {},
): Promise<boolean> {
  const data = encodeIsValidSignature(digest, signature)
  const answer = await callCapped(rpc, { ...(from && { from }), to: wallet, data }, gas)
  return answer.ok && answer.data.slice(0, ACCEPTED.length) === ACCEPTED
}

/**
 * Runs the very transfer as the relayer would send it, and returns the revert's text when it fails. Throws
 * `RpcUnavailableError`.
 */
export async function simulateTransfer(
  rpc: Rpc,
  call: { from: Address; to: Address; data: Hex },
): Promise<{ ok: true } | { ok: false; revert: string }> {
  const answer = await callCapped(rpc, call)
  return answer.ok ? { ok: true } : answer
}

/** Gas for deploying a wallet and asking it; all of that code is a stranger's. */
const VALIDATOR_GAS_CAP = 4_000_000n
/** The code that the validator's constructor returns for a valid signature. */
const IS_VALID = '0x01'

/**
 * Asks whether a contract wallet accepts a signature: by ERC-1271, and for a wrapped signature of a wallet that may not be
 * deployed yet by the universal validator of ERC-6492, run without being deployed itself. An address without code accepts
 * nothing. The answer holds for the newest block. Throws `RpcUnavailableError`.
 */
export async function isContractSignature(
  rpc: Rpc,
  { address, hash, signature }: { address: Address; hash: Hex; signature: Hex },
): Promise<boolean> {
  if (!isErc6492Signature(signature)) return isAcceptedByWallet(rpc, address, hash, signature)
  const data = encodeDeployData({
    abi: universalSignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [address, hash, signature],
  })
  try {
    const call = [{ data, gas: toQuantity(VALIDATOR_GAS_CAP) }, 'latest']
    return (await rpc.request('eth_call', call, { timeoutMs: WALLET_TIMEOUT_MS })) === IS_VALID
  } catch (error) {
    // The validator reverts for a signature that is wrapped wrongly.
    if (isRevert(error)) return false
    throw asUnasked(error)
  }
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
