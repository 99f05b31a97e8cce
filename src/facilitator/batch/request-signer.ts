import type { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator'
import { type Abi, type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { selectors, toQuantity } from '../../chain/abi.js'
import { batchContracts } from '../../chain/batch-settlement.js'
import { isAcceptedByWallet, WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { Rpc } from '../../chain/rpc.js'
import { asUnasked, isRevert, revertText } from '../../chain/rpc-errors.js'
import type { Job } from '../../store/settlement-journal.js'
import { wordsOf } from './revert-words.js'

type EvmSigner = ConstructorParameters<typeof BatchSettlementEvmScheme>[0]

/** The signer that the scheme of the official package is given for one request, and what went on behind it. */
export interface RequestSigner {
  signer: EvmSigner
  /** Why the chain could not be read, if so: then no answer of the scheme counts. */
  failure(): unknown
  /** The row that stands for what the scheme wanted to send. */
  job(): Job | undefined
  /** The deposit as it was simulated. */
  deposit(): Hex | undefined
}

export interface RequestSignerOptions {
  rpc: Rpc
  relayers: readonly Address[]
  /** Makes the transaction a job and resolves with its row once it is decided, or as it stands when time is up. */
  send(call: { to: Address; calldata: Hex }): Promise<Job>
  /** The digest of a deposit's authorization, about which the token asks a wallet; about all else the settlement contract does. */
  authorization?: { digest: Hex; asset: Address } | undefined
}

/** A stranger's code may keep a node busy. */
const CALL_TIMEOUT_MS = 3_000
/** What a claim of one row leaves for the question to a wallet. */
const VOUCHER_GAS_CAP = 240_000n
/** As much as the largest claim may take when it is sent. */
const CALL_GAS_CAP = 20_000_000n

/**
 * Makes the relayer look like a wallet: what the scheme writes becomes a job of the journal, what it waits for is
 * the outcome of that job. Reads that fail are remembered, for the scheme takes them for a bad signature.
 */
export function createRequestSigner(options: RequestSignerOptions): RequestSigner {
  const { rpc, relayers, send, authorization } = options
  let failure: unknown
  let job: Job | undefined
  let deposit: Hex | undefined

  async function noteFailure<Value>(reading: Promise<Value>): Promise<Value> {
    try {
      return await reading
    } catch (error) {
      if (!isRevert(error)) failure ??= asUnasked(error)
      throw error
    }
  }

  const ask = (method: string, params: readonly unknown[]) =>
    noteFailure(rpc.request(method, params, { timeoutMs: CALL_TIMEOUT_MS }))

  /** As the contracts ask: from their own addresses, and only a whole word is a yes. */
  async function askWallet({ address, args = [] }: ContractCall): Promise<Hex> {
    const [digest, signature] = args as [Hex, Hex]
    const isDeposit = authorization !== undefined && authorization.digest === digest
    const terms = isDeposit
      ? { from: authorization.asset }
      : { from: batchContracts.settlement, gas: VOUCHER_GAS_CAP }
    const asked = isAcceptedByWallet(rpc, address, digest, signature, terms)
    return (await noteFailure(asked)) ? selectors.isValidSignature : '0xffffffff'
  }

  async function readContract(call: ContractCall): Promise<unknown> {
    const { address, functionName } = call
    if (functionName === 'isValidSignature') return askWallet(call)
    const [from] = relayers
    const isDeposit = functionName === 'deposit'
    if (isDeposit) deposit = encode(call)
    const gas = toQuantity(isDeposit ? WALLET_GAS_CAP : CALL_GAS_CAP)
    try {
      const data = await ask('eth_call', [{ from, to: address, data: encode(call), gas }, 'latest'])
      return decode(call, data as Hex)
    } catch (error) {
      if (isRevert(error)) throw new Error(wordsOf(revertText(error)))
      throw error
    }
  }

  const signer: EvmSigner = {
    getAddresses: () => relayers,
    readContract,
    getCode: async ({ address }) => (await ask('eth_getCode', [address, 'latest'])) as Hex,
    // The scheme judges signatures itself, by code and ERC-1271; the interface has this one all the same.
    verifyTypedData: unused('verifyTypedData'),
    // Only factories of an allow-list are ever called, and there is none.
    sendTransaction: unused('sendTransaction'),
    async writeContract(call) {
      job = await send({ to: call.address.toLowerCase() as Address, calldata: encode(call) })
      if (job.transaction === null) throw new Error('nothing was sent')
      return job.transaction
    },
    async waitForTransactionReceipt() {
      if (job?.state === 'confirmed') return { status: 'success', logs: [] }
      if (job?.state === 'failed') return { status: 'reverted', logs: [] }
      throw new Error('not mined yet')
    },
  }
  return { signer, failure: () => failure, job: () => job, deposit: () => deposit }
}

interface ContractCall {
  address: Address
  abi: readonly unknown[]
  functionName: string
  args?: readonly unknown[]
}

function encode({ abi, functionName, args = [] }: ContractCall): Hex {
  return encodeFunctionData({ abi: abi as Abi, functionName, args })
}

/** A function without outputs answers nothing. */
function decode({ abi, functionName }: ContractCall, data: Hex): unknown {
  return decodeFunctionResult({ abi: abi as Abi, functionName, data })
}

function unused(name: string) {
  return async (): Promise<never> => {
    throw new Error(`${name} is not used here`)
  }
}
