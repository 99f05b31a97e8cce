import {
  type Address,
  encodeDeployData,
  erc6492SignatureValidatorByteCode,
  type Hex,
  universalSignatureValidatorAbi,
} from 'viem'
import { isErc6492Signature } from '../x402/signature-forms.js'
import { toQuantity } from './abi.js'
import { isAcceptedByWallet } from './contract-wallet.js'
import type { Rpc } from './rpc.js'
import { asUnasked, isRevert } from './rpc-errors.js'

/** Room for making a wallet and asking it; all of that code is a stranger's. */
const GAS_CAP = 4_000_000n
/** A stranger's code may keep a node busy; past this the node is taken to be out of reach. */
const TIMEOUT_MS = 3_000
/** What the validator's constructor leaves for yes. */
const YES = '0x01'

/**
 * Whether a contract wallet stands behind a signature: by ERC-1271, and for a wrapped signature of one that may not be
 * deployed yet by the universal validator of ERC-6492, run without being deployed itself. An address without code stands
 * behind nothing. The answer is of this block. Throws `RpcUnavailableError`.
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
    const call = [{ data, gas: toQuantity(GAS_CAP) }, 'latest']
    return (await rpc.request('eth_call', call, { timeoutMs: TIMEOUT_MS })) === YES
  } catch (error) {
    // The validator reverts for what is wrapped wrongly.
    if (isRevert(error)) return false
    throw asUnasked(error)
  }
}
