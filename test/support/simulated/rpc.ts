import { type Address, type Hex, hexToBigInt } from 'viem'
import { selectors, toQuantity, wordOf } from '../../../src/chain/abi.js'
import { paymentFactsCode } from '../../../src/chain/creation-code.js'
import type { NodeResult, Rpc, RpcResult } from '../../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import type { Sent, SimulatedBlock, SimulatedChain } from './chain.js'
import { createPatience } from './patience.js'
import { copyOf, encodeError, run, type State } from './state.js'

/** How one node of the chain behaves. */
export interface SimulatedNode {
  isUp: boolean
  /** It has not seen so many of the newest blocks. */
  lag: number
  /** Its words against a transaction that it should have taken; `undefined` lets it through. */
  refuses(sent: Pick<Sent, 'hash'>): string | undefined
  /** It answers that it took a transaction, and loses it. */
  swallows: boolean
  /** It lists transactions in blocks, and shows no receipts of them. */
  hidesReceipts: boolean
  /** A method that it cannot serve now. */
  lacks: string | undefined
}

const BLOCK_GAS = 30_000_000n

/** Nodes of one chain behind the port, and what was sent through it. The first node that is up answers. */
export function simulatedRpc(chain: SimulatedChain, count: number, hashOf: (raw: Hex) => Hex) {
  const nodes = Array.from({ length: count }, (): SimulatedNode => {
    return {
      isUp: true,
      lag: 0,
      refuses: () => undefined,
      swallows: false,
      hidesReceipts: false,
      lacks: undefined,
    }
  })
  /** Every raw transaction that a node was given, in order. */
  const offered: Hex[] = []
  const patience = createPatience()

  function ask(node: SimulatedNode, method: string, params: readonly unknown[]): NodeResult {
    if (!node.isUp || node.lacks === method) {
      return { ok: false, error: new RpcUnavailableError('the node does not answer') }
    }
    try {
      if (method !== 'eth_sendRawTransaction')
        return { ok: true, value: read(node, method, params) }
      return { ok: true, value: send(node, params[0] as Hex) }
    } catch (error) {
      return { ok: false, error: error as RpcResponseError }
    }
  }

  function send(node: SimulatedNode, raw: Hex): Hex {
    offered.push(raw)
    const hash = hashOf(raw)
    const refusal = node.refuses({ hash })
    if (refusal !== undefined) throw new RpcResponseError(-32_000, refusal, undefined)
    return node.swallows ? hash : chain.offer(raw).hash
  }

  function read(node: SimulatedNode, method: string, params: readonly unknown[]): unknown {
    const newest = Math.max(0, chain.head().number - node.lag)
    const blockOf = (tag: unknown) => {
      const number = tag === 'latest' || tag === undefined ? newest : Number(tag)
      return number > newest ? undefined : chain.at(number)
    }
    return (readers[method] ?? unknownMethod)({ node, newest, blockOf, params, chain })
  }

  const rpc: Rpc = {
    async request(method, params) {
      if (patience.isOver()) await patience.never
      const [result] = first(method, [{ method, params }])
      if (result?.ok) return result.value
      throw result?.error
    },
    async batch(calls) {
      if (patience.isOver()) await patience.never
      const results = first(calls[0]?.method ?? '', calls)
      const unanswered = results.find((it) => !it.ok && it.error instanceof RpcUnavailableError)
      if (unanswered?.ok === false) throw unanswered.error
      return results as RpcResult[]
    },
    everywhere: async (method, params) => nodes.map((node) => ask(node, method, params)),
    prefer() {},
    async close() {},
  }

  function first(method: string, calls: readonly { method: string; params: readonly unknown[] }[]) {
    const able = nodes.find(({ isUp, lacks }) => isUp && lacks !== method) ?? nodes[0]
    return calls.map((call) => ask(able as SimulatedNode, call.method, call.params))
  }

  return { rpc, nodes, offered }
}

interface Question {
  node: SimulatedNode
  newest: number
  blockOf(tag: unknown): SimulatedBlock | undefined
  params: readonly unknown[]
  chain: SimulatedChain
}

function unknownMethod(): never {
  throw new RpcResponseError(-32_601, 'the method does not exist', undefined)
}

function stateAt({ blockOf }: Question, tag: unknown): State {
  const state = blockOf(tag)?.state
  if (state === undefined) throw new RpcResponseError(-32_000, 'header not found', undefined)
  return state
}

const readers: Record<string, (question: Question) => unknown> = {
  eth_blockNumber: ({ newest }) => toQuantity(newest),
  eth_getBlockByNumber({ blockOf, params }) {
    const block = blockOf(params[0])
    if (block === undefined) return null
    return {
      number: toQuantity(block.number),
      hash: block.hash,
      timestamp: toQuantity(block.seconds),
      baseFeePerGas: toQuantity(block.baseFee),
      gasLimit: toQuantity(BLOCK_GAS),
      transactions: block.transactions.map(({ hash }) => hash),
    }
  },
  eth_getBalance: (it) =>
    toQuantity(stateAt(it, it.params[1]).gasMoney.get(it.params[0] as Address) ?? 0n),
  eth_getTransactionCount: (it) =>
    toQuantity(stateAt(it, it.params[1]).counts.get(it.params[0] as Address) ?? 0),
  eth_getBlockReceipts({ node, blockOf, params }) {
    return node.hidesReceipts ? [] : (blockOf(params[0])?.receipts ?? null)
  },
  eth_getTransactionReceipt({ node, newest, params, chain }) {
    for (let number = newest; number >= 0 && !node.hidesReceipts; number--) {
      const found = chain.at(number)?.receipts.find((it) => it.transactionHash === params[0])
      if (found !== undefined) return found
    }
    return null
  },
  eth_getTransactionByHash({ params, chain }) {
    const found = chain.mined().find(({ hash }) => hash === params[0])
    return found === undefined ? null : { from: found.from, to: found.to, input: found.data }
  },
  eth_getLogs({ newest, params, chain }) {
    const { address, topics, fromBlock, toBlock } = params[0] as Record<string, unknown>
    const range = Array.from({ length: newest + 1 }, (_, i) => i).slice(
      Number(fromBlock),
      Number(toBlock) + 1,
    )
    const isWanted = (log: Record<string, unknown>) =>
      [address].flat().includes(log.address) &&
      (topics as (Hex | Hex[] | null)[]).every((wanted, i) => {
        const topic = (log.topics as Hex[])[i] as Hex
        return wanted === null || [wanted].flat().includes(topic)
      })
    const logs = range.flatMap(
      (number) => chain.at(number)?.receipts.flatMap((it) => it.logs) ?? [],
    )
    return (logs as Record<string, unknown>[]).filter(isWanted)
  },
  eth_estimateGas(it) {
    const result = simulate(it)
    if (result.isSuccess) return toQuantity(result.gasUsed)
    const { revert } = result
    if (revert === undefined) throw new RpcResponseError(-32_000, 'out of gas', undefined)
    throw new RpcResponseError(3, `execution reverted: ${revert}`, encodeError(revert))
  },
  eth_call(it) {
    const { to, data } = it.params[0] as { to?: Address; data: Hex }
    if (data.startsWith(selectors.isValidSignature)) {
      const isWallet = stateAt(it, it.params[1]).code.has(to as Address)
      return isWallet ? `${selectors.isValidSignature}${'0'.repeat(56)}` : '0x'
    }
    if (to !== undefined) {
      const { isSuccess, output, revert } = simulate(it)
      if (isSuccess) return output
      throw revert === undefined
        ? new RpcResponseError(-32_000, 'out of gas', undefined)
        : new RpcResponseError(3, `execution reverted: ${revert}`, encodeError(revert))
    }
    return data.startsWith(paymentFactsCode) ? readFacts(it, data) : readCodes(it, data)
  },
}

function simulate(question: Question) {
  const { to, data, gas } = question.params[0] as { to: Address; data: Hex; gas: Hex }
  const tag = question.params[1]
  const seconds = question.blockOf(tag)?.seconds ?? 0
  const state = copyOf(stateAt(question, tag))
  return run(state, { to, data, gas: hexToBigInt(gas) }, { seconds, isSimulation: true })
}

const CODES_HEAD = `0x602e60205b388210156026576014825f395f5160601c3b15158153600101906014019060045${'65b602090036020f3'}`

/** Answers the creation code that reads which accounts have code. */
function readCodes(question: Question, data: Hex): Hex {
  const { code } = stateAt(question, question.params[1])
  const accounts = data.slice(CODES_HEAD.length).match(/.{40}/g) ?? []
  return `0x${accounts.map((it) => (code.has(`0x${it}`) ? '01' : '00')).join('')}`
}

const MEMBER_DIGITS = 40 + 40 + 64

/** Answers the creation code that reads the facts of payments by EIP-3009. */
function readFacts(question: Question, data: Hex): Hex {
  const tag = question.params[1]
  const state = stateAt(question, tag)
  const { number = 0, seconds = 0 } = question.blockOf(tag) ?? {}
  const asset = `0x${data.slice(paymentFactsCode.length, paymentFactsCode.length + 40)}`
  const members = data.slice(paymentFactsCode.length + 42).match(/.{144}/g) ?? []
  const numbers = [seconds, number].map((it) => it.toString(16).padStart(16, '0')).join('')
  const facts = members.map((member) => {
    const [payer, payTo, nonce] = [
      `0x${member.slice(0, 40)}`,
      `0x${member.slice(40, 80)}`,
      `0x${member.slice(80, MEMBER_DIGITS)}`,
    ] as [Address, Address, Hex]
    const flags = [
      true,
      state.used.has(`${asset}/${payer}/${nonce}`),
      state.blocked.has(payer),
      state.blocked.has(payTo),
      state.code.has(payer),
    ].reduce((sum, is, i) => sum + (is ? 2 ** i : 0), 0)
    const held = wordOf(state.tokens.get(`${asset}/${payer}`) ?? 0n)
    return held + flags.toString(16).padStart(64, '0')
  })
  return `0x0000${numbers.padEnd(60, '0')}${facts.join('')}`
}
