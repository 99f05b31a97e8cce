import { type Address, decodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Authorization } from '../x402/authorization-digest.js'
import { multicall3Address, selectors, topics } from './abi.js'
import { findOwnTransfer } from './authorization-uses.js'
import { readBlocks } from './blocks.js'
import { type BlockRange, type Receipt, readLogs, readReceipts } from './receipts.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** A payment in a block, in a transaction of one of our wallets. */
export interface SentPayment {
  authorization: Authorization
  /** As the token saw it. */
  signature: Hex
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
 * Reads the payments that these wallets brought on chain in a range of blocks, the oldest first: in calls of the asset, or
 * of Multicall3. Other uses of authorizations, such as deposits into channels, are left out. Throws `RpcUnavailableError`
 * and `RpcResponseError`.
 */
export async function readSentPayments(
  rpc: Rpc,
  asset: Address,
  senders: ReadonlySet<Address>,
  range: BlockRange,
): Promise<SentPayment[]> {
  const filter = { address: asset, topics: [topics.authorizationUsed] }
  const found = new Set<Hex>()
  for await (const log of readLogs(rpc, filter, range)) {
    found.add(log.transactionHash.toLowerCase() as Hex)
  }
  const hashes = [...found].reverse()
  const payments: SentPayment[] = []
  for (let i = 0; i < hashes.length; i += TRANSACTIONS_AT_ONCE) {
    const part = hashes.slice(i, i + TRANSACTIONS_AT_ONCE)
    payments.push(...(await readPaymentsOf(rpc, asset, senders, part)))
  }
  return payments
}

async function readPaymentsOf(
  rpc: Rpc,
  asset: Address,
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
    const calls = callsOf(to, input)
    return calls.flatMap((call, position) => {
      const transfer = readTransfer(asset, call)
      if (transfer === undefined) return []
      const { from: payer, to: payTo, value, nonce } = transfer.authorization
      const transferLog = findOwnTransfer(receipt.logs, { asset, payer, payTo, value, nonce })
      if (transferLog === undefined) return []
      return [{ ...transfer, receipt, transferLog, minedAt, position, calls: calls.length }]
    })
  })
}

interface Transaction {
  hash: Hex
  from: Address
  to: Address
  input: Hex
}

async function readTransactions(rpc: Rpc, hashes: readonly Hex[]): Promise<Transaction[]> {
  const answers = await rpc.batch(
    hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
  )
  return answers.map((answer, i) => {
    if (!answer.ok) throw answer.error
    const { from, to, input } = (answer.value ?? {}) as Record<string, unknown>
    if (typeof from !== 'string' || typeof input !== 'string') {
      throw new RpcUnavailableError('the chain node shows a log, and not its transaction')
    }
    return {
      hash: hashes[i] as Hex,
      from: from.toLowerCase() as Address,
      to: String(to).toLowerCase() as Address,
      input: input as Hex,
    }
  })
}

interface Call {
  to: Address
  data: Hex
}

const multicall = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'function aggregate3(Call[] calls)',
])
const token = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

/** Returns the calls of a transaction: those of a batch in their order, or the transaction itself. */
function callsOf(to: Address, data: Hex): Call[] {
  if (to !== multicall3Address || !data.startsWith(selectors.aggregate3)) return [{ to, data }]
  const [calls] = decodeFunctionData({ abi: multicall, data }).args
  return calls.map(({ target, callData }) => ({
    to: target.toLowerCase() as Address,
    data: callData,
  }))
}

function readTransfer(
  asset: Address,
  { to, data }: Call,
): Pick<SentPayment, 'authorization' | 'signature'> | undefined {
  if (to !== asset || !data.startsWith(selectors.transferWithAuthorization)) return undefined
  const { args } = decodeFunctionData({ abi: token, data })
  const [from, payTo, value, validAfter, validBefore, nonce, signature] = args
  const authorization = {
    from: from.toLowerCase() as Address,
    to: payTo.toLowerCase() as Address,
    value,
    validAfter,
    validBefore,
    nonce: nonce.toLowerCase() as Hex,
  }
  return { authorization, signature }
}
