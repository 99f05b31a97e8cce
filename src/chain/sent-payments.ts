import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { ParsedPayment, TokenPermit } from '@arcus/protocol/x402/payment'
import { type Address, decodeFunctionData, type Hex, parseAbi } from 'viem'
import { callsOf, type EvmCall, selectors, topics, wordOf } from './abi.js'
import { findOwnTransfer } from './authorization-uses.js'
import { readBlocks } from './blocks.js'
import { findSettlement, isSettleCall, transferOfPayment } from './permit2.js'
import {
  type BlockRange,
  type Receipt,
  readLogs,
  readReceipts,
  readTransactions,
} from './receipts.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** A payment as a call of ours shows it. */
interface CalledPayment {
  payment: Pick<ParsedPayment, 'asset' | 'payTo' | 'amount' | 'authorization' | 'permit2'>
  /** As the token or Permit2 saw it. */
  signature: Hex
  /** The permit of the token that was sent with it. */
  permit?: TokenPermit
}

/** A payment in a block, in a transaction of one of our wallets. */
export interface SentPayment extends CalledPayment {
  receipt: Receipt
  /** The index in its block of the transfer that went with it. */
  transferLog: number
  /** The time of its block, Unix seconds. */
  minedAt: number
  /** Its place among the calls of the transaction, and their number. */
  position: number
  calls: number
}

/** The transactions that are read in one round trip: each may carry a hundred payments. */
const TRANSACTIONS_AT_ONCE = 20

/**
 * Reads the payments that these wallets brought on chain in a range of blocks, the oldest first: in calls of an asset, of
 * x402's proxies, or of a multicall. Other uses of authorizations, such as deposits into channels, are left out. Throws
 * `RpcUnavailableError` and `RpcResponseError`.
 */
export async function readSentPayments(
  rpc: Rpc,
  assets: readonly Address[],
  senders: ReadonlySet<Address>,
  range: BlockRange,
): Promise<SentPayment[]> {
  const { exactProxy, uptoProxy } = permit2Contracts
  const filters = [
    { address: assets, topics: [topics.authorizationUsed] },
    { address: [exactProxy, uptoProxy], topics: [[topics.settled, topics.settledWithPermit]] },
  ]
  const found = new Map<Hex, number>()
  for (const filter of filters) {
    for await (const log of readLogs(rpc, filter, range)) {
      found.set(log.transactionHash.toLowerCase() as Hex, Number(log.blockNumber))
    }
  }
  const hashes = [...found.keys()].reverse()
  hashes.sort((one, other) => (found.get(one) ?? 0) - (found.get(other) ?? 0))
  const payments: SentPayment[] = []
  for (let i = 0; i < hashes.length; i += TRANSACTIONS_AT_ONCE) {
    const part = hashes.slice(i, i + TRANSACTIONS_AT_ONCE)
    payments.push(...(await readPaymentsOf(rpc, assets, senders, part)))
  }
  return payments
}

async function readPaymentsOf(
  rpc: Rpc,
  assets: readonly Address[],
  senders: ReadonlySet<Address>,
  hashes: readonly Hex[],
): Promise<SentPayment[]> {
  const transactions = await readTransactions(rpc, hashes)
  const ours = transactions.filter(({ from }) => senders.has(from))
  const receipts = await readReceipts(
    rpc,
    ours.map(({ hash }) => hash),
  )
  const receiptOf = new Map(receipts.map((receipt) => [receipt.transactionHash, receipt]))
  const numbers = [...new Set(receipts.map(({ blockNumber }) => blockNumber))]
  const blocks = numbers.length === 0 ? [] : await readBlocks(rpc, numbers)
  const timeOf = new Map(blocks.map((block) => [block.number, block.timestamp]))
  return ours.flatMap(({ hash, to, input }) => {
    const receipt = receiptOf.get(hash)
    const minedAt = receipt && timeOf.get(receipt.blockNumber)
    if (receipt === undefined || minedAt === undefined) {
      throw new RpcUnavailableError('the chain node shows a log, and not its receipt or block')
    }
    const calls = to === undefined ? [] : callsOf({ to, data: input })
    return calls.flatMap((call, position) => {
      const called = readPayment(call)
      if (called === undefined || !assets.includes(called.payment.asset)) return []
      const transferLog = findTransfer(called, call, receipt)
      if (transferLog === undefined) return []
      return [{ ...called, receipt, transferLog, minedAt, position, calls: calls.length }]
    })
  })
}

function findTransfer({ payment }: CalledPayment, { data }: EvmCall, { logs }: Receipt) {
  if (payment.permit2 !== undefined) {
    return findSettlement(logs, transferOfPayment(payment), data)?.transferLog
  }
  const { asset, payTo, authorization } = payment
  const { from: payer, value, nonce } = authorization
  return findOwnTransfer(logs, { asset, payer, payTo, value, nonce })
}

const token = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
const proxyAbi = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct EIP2612Permit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'struct ExactWitness { address to; uint256 validAfter; }',
  'struct UptoWitness { address to; address facilitator; uint256 validAfter; }',
  'function settle(PermitTransferFrom permit, address owner, ExactWitness witness, bytes signature)',
  'function settle(PermitTransferFrom permit, uint256 amount, address owner, UptoWitness witness, bytes signature)',
  'function settleWithPermit(EIP2612Permit permit2612, PermitTransferFrom permit, address owner, ExactWitness witness, bytes signature)',
  'function settleWithPermit(EIP2612Permit permit2612, PermitTransferFrom permit, uint256 amount, address owner, UptoWitness witness, bytes signature)',
])
const lower = <T extends Hex>(hex: T): T => hex.toLowerCase() as T

function readPayment({ to, data }: EvmCall): CalledPayment | undefined {
  const { exactProxy, uptoProxy } = permit2Contracts
  if (data.startsWith(selectors.transferWithAuthorization)) return readTransfer(to, data)
  const isProxy = to === exactProxy || to === uptoProxy
  return isProxy && isSettleCall(data) ? readSettle(to, data) : undefined
}

function readTransfer(asset: Address, data: Hex): CalledPayment {
  const { args } = decodeFunctionData({ abi: token, data })
  const [from, to, value, validAfter, validBefore, nonce, signature] = args
  const payTo = lower(to)
  const authorization = {
    from: lower(from),
    to: payTo,
    value,
    validAfter,
    validBefore,
    nonce: lower(nonce),
  }
  return { payment: { asset, payTo, amount: value, authorization }, signature }
}

function readSettle(spender: Address, data: Hex): CalledPayment {
  const { functionName, args } = decodeFunctionData({ abi: proxyAbi, data })
  const isWithPermit = functionName === 'settleWithPermit'
  const rest = [...args] as unknown[]
  const permit2612 = isWithPermit ? (rest.shift() as Permit2612) : undefined
  const permitted = rest.shift() as PermitTransferFrom
  const charged = spender === permit2Contracts.uptoProxy ? (rest.shift() as bigint) : undefined
  const [owner, witness, signature] = rest as [Address, Witness, Hex]
  const [from, payTo, asset] = [owner, witness.to, permitted.permitted.token].map(lower) as [
    Address,
    Address,
    Address,
  ]
  const { facilitator } = witness
  const payment = {
    asset,
    payTo,
    amount: charged ?? permitted.permitted.amount,
    authorization: {
      from,
      to: payTo,
      value: permitted.permitted.amount,
      validAfter: witness.validAfter,
      validBefore: permitted.deadline + 1n,
      nonce: `0x${wordOf(permitted.nonce)}` as Hex,
    },
    permit2: { token: asset, spender, ...(facilitator && { facilitator: lower(facilitator) }) },
  }
  return { payment, signature, ...(permit2612 && { permit: toPermit(permit2612, from, asset) }) }
}

interface Permit2612 {
  value: bigint
  deadline: bigint
  r: Hex
  s: Hex
  v: number
}

interface PermitTransferFrom {
  permitted: { token: Address; amount: bigint }
  nonce: bigint
  deadline: bigint
}

interface Witness {
  to: Address
  facilitator?: Address
  validAfter: bigint
}

/** Returns the permit of a token. The call does not have its nonce, and nobody asks for it any more. */
function toPermit(
  { value, deadline, r, s, v }: Permit2612,
  from: Address,
  asset: Address,
): TokenPermit {
  const signature: Hex = `${r}${s.slice(2)}${v.toString(16).padStart(2, '0')}`
  const { permit2: spender } = permit2Contracts
  return { from, asset, spender, amount: value, nonce: 0n, deadline, signature }
}
