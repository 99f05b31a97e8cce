import type { Hex } from 'viem'
import { addressTopic, toQuantity, wordOf } from '../../../../src/chain/abi.js'
import {
  batchContracts,
  claimedTopic,
  refundedTopic,
  settledTopic,
} from '../../../../src/chain/batch-settlement.js'
import type { Rpc, RpcCall } from '../../../../src/chain/rpc.js'
import { batchKinds } from '../../../../src/facilitator/batch/jobs.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { aRow } from '../../../support/a-row.js'
import { anRpc } from '../../../support/an-rpc.js'

export const receiver = `0x${'aa'.repeat(20)}` as const
export const token = `0x${'36'.repeat(20)}` as const
export const channelA = `0x${'ca'.repeat(32)}` as const
export const channelB = `0x${'cb'.repeat(32)}` as const

/** Something that happened in a block: a claim or a refund of a channel, or a payout. Amounts are 6-decimal units. */
export type ChainEvent = { block: number; amount: bigint } & (
  | { claim: Hex }
  | { refund: Hex; nonce?: bigint }
  | { payout: true }
)

export const hashOf = (block: number) => `0x${wordOf(block)}` as Hex

interface Shown {
  head?: number
  /** Its logs are not shown yet. */
  hidesLogs?: boolean
  hidesReceipts?: boolean
  /** The calldata of the transactions. */
  input?: Hex
}

/** A node that knows channels of 1,000,000 units each, and everything that happened to them up to its head. */
export function aBatchNode(
  events: readonly ChainEvent[],
  { head = 9_000, hidesLogs = false, hidesReceipts = false, input = '0x' }: Shown = {},
): Rpc {
  const upTo = (block: number) => events.filter((it) => it.block <= block)
  const sum = (of: readonly ChainEvent[]) => of.reduce((all, { amount }) => all + amount, 0n)
  const claimedBy = (channel: Hex, block: number) =>
    sum(upTo(block).filter((it) => 'claim' in it && it.claim === channel))

  function logOf(event: ChainEvent) {
    const { block, amount } = event
    const place = {
      address: batchContracts.settlement,
      transactionHash: hashOf(block),
      blockNumber: toQuantity(block),
      logIndex: '0x0',
    }
    if ('claim' in event) {
      const total = claimedBy(event.claim, block)
      const topics = [claimedTopic, event.claim]
      return { ...place, topics, data: `0x${wordOf(amount)}${wordOf(total)}` }
    }
    const topics =
      'refund' in event
        ? [refundedTopic, event.refund]
        : [settledTopic, addressTopic(receiver), addressTopic(token)]
    return { ...place, topics, data: `0x${wordOf(amount)}` }
  }

  /** Answers a view of the settlement contract, by the length and the content of its call. */
  function view({ params: [call, at] }: RpcCall): string {
    const { data } = call as { data: string }
    const block = at === 'latest' ? head : Number(at)
    const channel = `0x${data.slice(10, 74)}` as Hex
    const refunds = upTo(block).filter((it) => 'refund' in it && it.refund === channel)
    if (data.startsWith(views.channels)) {
      return wordOf(1_000_000n - sum(refunds)) + wordOf(claimedBy(channel, block))
    }
    if (data.startsWith(views.withdrawals)) return wordOf(0n) + wordOf(0n)
    if (data.startsWith(views.refundNonce)) return wordOf(BigInt(refunds.length))
    const settled = sum(upTo(block).filter((it) => 'payout' in it))
    return wordOf(1_000_000n) + wordOf(settled)
  }

  return anRpc({
    async request(method, [first]) {
      if (method === 'eth_blockNumber') return toQuantity(head)
      if (method === 'eth_getTransactionByHash') return { input }
      const { topics, fromBlock, toBlock } = first as {
        topics: Hex[]
        fromBlock: string
        toBlock: string
      }
      const isIn = ({ block }: ChainEvent) =>
        block >= Number(fromBlock) && block <= Number(toBlock) && block <= head
      const logs = hidesLogs ? [] : events.filter(isIn).map(logOf)
      return logs.filter((log) => topics.every((topic, i) => log.topics[i] === topic))
    },
    async batch(calls) {
      return calls.map((call) => ({ ok: true, value: `0x${view(call)}` }))
    },
    async everywhere(_method, [hash]) {
      const found = hidesReceipts ? [] : events.filter(({ block }) => hashOf(block) === hash)
      const [event] = found
      if (event === undefined) return [{ ok: true, value: null }]
      const { transactionHash, blockNumber } = logOf(event)
      const logs = found.map(logOf)
      return [{ ok: true, value: { transactionHash, blockNumber, status: '0x1', logs } }]
    },
  })
}

const views = {
  channels: '0x7a7ebd7b',
  withdrawals: '0xb7f06ebe',
  refundNonce: '0xf0dc792e',
}

/** The row of a job of the scheme, which is under way unless said. */
export function aBatchJob(
  kind: keyof typeof batchKinds,
  details: object,
  changes: Partial<Job> = {},
): Job {
  return aRow({
    kind: batchKinds[kind],
    state: 'submitted',
    to: batchContracts.settlement,
    details: JSON.stringify(details),
    expiresAt: Number.MAX_SAFE_INTEGER,
    ...changes,
  })
}
