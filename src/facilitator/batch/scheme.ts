import type { BatchRequest } from '@arcus/protocol/x402/batch-request'
import { type ReasonKey, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator'
import { type Abi, type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { selectors, toQuantity } from '../../chain/abi.js'
import { batchContracts } from '../../chain/batch-settlement.js'
import { isAcceptedByWallet, WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { Rpc } from '../../chain/rpc.js'
import { asUnasked, isRevert, revertText } from '../../chain/rpc-errors.js'
import type { Job } from '../journal/settlement-journal.js'
import { nameRevert } from './kinds.js'

/** The state of a channel in an answer of verify. */
interface ChannelExtra {
  channelId: string
  balance: string
  totalClaimed: string
  withdrawRequestedAt: number
  refundNonce: string
}

export type SchemeResult = { ok: true; extra: ChannelExtra } | { ok: false; rejection: Rejection }

/** Verifies by the scheme of the official package. Throws the error of a chain that could not be read. */
export async function verifyByScheme(
  request: BatchRequest,
  requestSigner: RequestSigner,
): Promise<SchemeResult> {
  const { isValid, invalidReason, invalidMessage, extra } = await run(requestSigner, (scheme) =>
    scheme.verify(payloadOf(request), requirementsOf(request)),
  )
  if (isValid) return { ok: true, extra: extra as unknown as ChannelExtra }
  return { ok: false, rejection: rejectionOf(invalidReason, invalidMessage) }
}

/** Settles by the scheme, which sends through the signer. Returns its refusal, or `undefined` when there is a job. */
export async function settleByScheme(
  request: BatchRequest,
  requestSigner: RequestSigner,
): Promise<Rejection | undefined> {
  const { success, errorReason, errorMessage } = await run(requestSigner, (scheme) =>
    scheme.settle(payloadOf(request), requirementsOf(request)),
  )
  if (success || requestSigner.job() !== undefined) return undefined
  return rejectionOf(errorReason, errorMessage)
}

async function run<Answer>(
  requestSigner: RequestSigner,
  ask: (scheme: BatchSettlementEvmScheme) => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await ask(new BatchSettlementEvmScheme(requestSigner.signer, undefined, config))
    if (requestSigner.failure() === undefined || requestSigner.job() !== undefined) return answer
  } catch (error) {
    throw requestSigner.failure() ?? error
  }
  throw requestSigner.failure()
}

/** The journal has the pending settlements, and is read before the scheme is called. */
const config = {
  pendingSettlementStore: {
    get: async () => undefined,
    set: async () => {},
    delete: async () => {},
  },
}

function payloadOf({ payload, acceptedNetwork, ...request }: BatchRequest): PaymentPayload {
  const accepted = { ...requirementsOf(request), network: acceptedNetwork }
  return { x402Version: 2, accepted, payload: { ...payload } } as PaymentPayload
}

function requirementsOf({ requirements }: Pick<BatchRequest, 'requirements'>): PaymentRequirements {
  const { amount, extra } = requirements
  return { ...requirements, amount: amount.toString(), extra: extra ?? {} } as PaymentRequirements
}

const keyByCode = new Map<string, ReasonKey>(
  (Object.keys(reasons) as ReasonKey[]).map((key) => [reasons[key].code, key]),
)

/** Translates a code of the scheme into our reason. Throws for a code that is not in our table. */
function rejectionOf(code: string | undefined, text: string | undefined): Rejection {
  const key = keyByCode.get(code ?? '')
  if (key === undefined) throw new Error(`the scheme answered the unknown code ${code}`)
  const { meaning } = reasons[key]
  return reject(key, text === undefined || text === code ? meaning : `${meaning} ${quoted(text)}`)
}

/** Quotes the first line of a text of a contract or of the package, which may contain anything. */
function quoted(text: string): string {
  return JSON.stringify(text.split('\n')[0]?.slice(0, 200) ?? '')
}

type EvmSigner = ConstructorParameters<typeof BatchSettlementEvmScheme>[0]

/** The signer that the scheme of the official package gets for one request, and what the scheme did with it. */
interface RequestSigner {
  signer: EvmSigner
  /** Returns the error of a read that failed; then no answer of the scheme counts. */
  failure(): unknown
  /** Returns the row of the transaction that the scheme wanted to send. */
  job(): Job | undefined
  /** Returns the calldata of the deposit that was simulated. */
  deposit(): Hex | undefined
}

/** The limit of one call: a stranger's code may keep a node busy. */
const CALL_TIMEOUT_MS = 3_000
/** The gas that a claim of one row leaves for the call to a wallet. */
const VOUCHER_GAS_CAP = 240_000n
/** The gas that the largest claim may take when it is sent. */
const CALL_GAS_CAP = 20_000_000n

/**
 * Presents the relayer as a wallet: a transaction of the scheme becomes a job of the journal, and its receipt is the
 * outcome of that job. Failed reads are remembered, because the scheme takes them for a bad signature.
 */
export function createRequestSigner(options: {
  rpc: Rpc
  relayers: readonly Address[]
  /** Turns the transaction into a job and resolves with its row once it is decided, or as it is at the deadline. */
  send(call: { to: Address; calldata: Hex }): Promise<Job>
  /** The deposit's authorization. The token asks a wallet about this digest, the settlement contract about all others. */
  authorization?: { digest: Hex; asset: Address } | undefined
}): RequestSigner {
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

  /** Asks a wallet as the contracts do: from their addresses, and only a whole word counts as yes. */
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
      if (isRevert(error)) throw new Error(nameRevert(revertText(error)))
      throw error
    }
  }

  const signer: EvmSigner = {
    getAddresses: () => relayers,
    readContract,
    getCode: async ({ address }) => (await ask('eth_getCode', [address, 'latest'])) as Hex,
    // The scheme checks signatures by code and ERC-1271 itself, so it does not call this member of the interface.
    verifyTypedData: unused('verifyTypedData'),
    // The scheme only calls factories of an allow-list, and the list is empty.
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

/** Decodes the answer of a call; a function without outputs gives `undefined`. */
function decode({ abi, functionName }: ContractCall, data: Hex): unknown {
  return decodeFunctionResult({ abi: abi as Abi, functionName, data })
}

function unused(name: string) {
  return async (): Promise<never> => {
    throw new Error(`${name} is not used here`)
  }
}
