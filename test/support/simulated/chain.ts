import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBytes, parseTransaction, serializeTransaction } from 'viem'
import { toQuantity } from '../../../src/chain/abi.js'
import { RpcResponseError } from '../../../src/chain/rpc-errors.js'
import { addressOf, hashOfTransaction } from '../../../src/facilitator/relayer/signer.js'
import { copyOf, type Log, newState, type Result, run, type State } from './state.js'

/** A transaction as a node took it, and who signed it. */
export interface Sent {
  hash: Hex
  from: Address
  nonce: number
  to: Address
  data: Hex
  gas: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

export interface SimulatedBlock {
  number: number
  hash: Hex
  /** Unix seconds. */
  seconds: number
  baseFee: bigint
  transactions: Sent[]
  receipts: Record<string, unknown>[]
  state: State
}

export const CHAIN_ID = 5042
export const BASE_FEE = 20_000_000_000n
const BLOCK_GAS = 30_000_000n

/**
 * One chain in memory, by the clock of the test: it makes a block every half second unless it is halted, takes what
 * wallets signed under the rules of geth's pool, and can drop its newest blocks.
 */
export function aSimulatedChain(keccak256: Keccak256, blockMs = 500) {
  let forks = 0
  let pool: Sent[] = []
  const blocks: SimulatedBlock[] = [{ ...blockAt(0), state: newState() }]
  const changes: ((state: State) => void)[] = []
  const foreign: Log[][] = []
  const chain = {
    baseFee: BASE_FEE,
    isHalted: false,
    /** Transactions that no block takes for now. */
    holdsBack: (_sent: Sent): boolean => false,
    head: () => blocks[blocks.length - 1] as SimulatedBlock,
    at: (number: number) => blocks[number],
    pool: () => pool,
    /** Every transaction in the blocks, the oldest first. */
    mined: () => blocks.flatMap(({ transactions }) => transactions),
    /** Changes the newest state: it shows at once. */
    change: (change: (state: State) => void) => change(chain.head().state),
    /** Changes the state at the beginning of the next block: no simulation sees it. */
    changeUnseen: (change: (state: State) => void) => void changes.push(change),
    /** Puts a transaction of a stranger's contract into the next block, of which only these logs are known. */
    logNext: (...logs: Log[]) => void foreign.push(logs),
    offer,
    mine,
    /** Drops the newest blocks; their transactions wait again, unless they are forgotten. */
    reorganise(depth: number, { areForgotten = false } = {}) {
      const dropped = blocks.splice(blocks.length - depth, depth)
      if (!areForgotten) pool = [...dropped.flatMap(({ transactions }) => transactions), ...pool]
      forks++
    },
    /** Nodes lose these transactions. */
    forget(isLost: (sent: Sent) => boolean = () => true) {
      pool = pool.filter((it) => !isLost(it))
    },
    stop: () => clearInterval(timer),
  }
  const timer = setInterval(() => chain.isHalted || mine(), blockMs)

  function blockAt(number: number): Omit<SimulatedBlock, 'state'> {
    const hash = `0x${number.toString(16).padStart(48, '0')}${String(forks).padStart(16, '0')}`
    const seconds = Math.floor(Date.now() / 1000)
    return { number, hash: hash as Hex, seconds, baseFee: BASE_FEE, transactions: [], receipts: [] }
  }

  /** Puts a transaction into the pool, or refuses it in the words of geth. */
  function offer(raw: Hex): Sent {
    const sent = read(raw, keccak256)
    const { state } = chain.head()
    const known = pool.find(({ from, nonce }) => from === sent.from && nonce === sent.nonce)
    const rises = ({ maxFeePerGas, maxPriorityFeePerGas }: Sent) =>
      sent.maxFeePerGas * 10n >= maxFeePerGas * 11n &&
      sent.maxPriorityFeePerGas * 10n >= maxPriorityFeePerGas * 11n
    const refusals: [boolean, string][] = [
      [known?.hash === sent.hash, 'already known'],
      [sent.gas > BLOCK_GAS, 'exceeds block gas limit'],
      [sent.gas < 21_000n, 'intrinsic gas too low'],
      [sent.nonce < (state.counts.get(sent.from) ?? 0), 'nonce too low'],
      [known !== undefined && !rises(known), 'replacement transaction underpriced'],
      [
        (state.gasMoney.get(sent.from) ?? 0n) < sent.gas * sent.maxFeePerGas,
        'insufficient funds for gas * price + value',
      ],
    ]
    const refusal = refusals.find(([is]) => is)?.[1]
    if (refusal !== undefined) throw new RpcResponseError(-32_000, refusal, undefined)
    pool = [...pool.filter((it) => it !== known), sent]
    return sent
  }

  /** Makes a block of everything whose turn it is. */
  function mine(): SimulatedBlock {
    const state = copyOf(chain.head().state)
    for (const change of changes.splice(0)) change(state)
    const block = { ...blockAt(blocks.length), baseFee: chain.baseFee, state }
    let isOver = false
    while (!isOver) {
      const next = pool.find(
        (it) =>
          it.nonce === (state.counts.get(it.from) ?? 0) &&
          it.maxFeePerGas >= block.baseFee &&
          !chain.holdsBack(it),
      )
      if (next === undefined) isOver = true
      else include(block, next)
    }
    for (const logs of foreign.splice(0)) {
      const hash = `0x${'f0'.repeat(28)}${String(block.number).padStart(8, '0')}` as const
      const before = block.receipts.flatMap(({ logs }) => logs as Log[]).length
      const result: Result = { isSuccess: true, gasUsed: 0n, logs, output: '0x' }
      block.receipts.push(toReceipt(block, { hash }, result, 0n, before))
    }
    blocks.push(block)
    return block
  }

  function include(block: SimulatedBlock, sent: Sent): void {
    const { state, seconds, baseFee, receipts } = block
    pool = pool.filter((it) => it !== sent)
    const tip = sent.maxFeePerGas - baseFee
    const price = baseFee + (tip < sent.maxPriorityFeePerGas ? tip : sent.maxPriorityFeePerGas)
    state.counts.set(sent.from, sent.nonce + 1)
    const result = run(state, sent, { seconds, isSimulation: false })
    const money = state.gasMoney.get(sent.from) ?? 0n
    state.gasMoney.set(sent.from, money - result.gasUsed * price)
    const before = receipts.flatMap(({ logs }) => logs as Log[]).length
    block.transactions.push(sent)
    receipts.push(toReceipt(block, sent, result, price, before))
  }

  return chain
}

export type SimulatedChain = ReturnType<typeof aSimulatedChain>

function toReceipt(
  { number }: SimulatedBlock,
  { hash }: Pick<Sent, 'hash'>,
  { isSuccess, gasUsed, logs }: Result,
  price: bigint,
  before: number,
) {
  const blockNumber = toQuantity(number)
  return {
    transactionHash: hash,
    blockNumber,
    status: isSuccess ? '0x1' : '0x0',
    gasUsed: toQuantity(gasUsed),
    effectiveGasPrice: toQuantity(price),
    logs: logs.map((log, i) => {
      return { ...log, transactionHash: hash, blockNumber, logIndex: toQuantity(before + i) }
    }),
  }
}

/** Reads a signed transaction, and from its signature alone whose it is. */
function read(raw: Hex, keccak256: Keccak256): Sent {
  const { r, s, v, yParity, ...unsigned } = parseTransaction(raw as `0x02${string}`)
  const { chainId, nonce = 0, to, data = '0x', gas = 0n, ...fees } = unsigned
  if (chainId !== CHAIN_ID) throw new RpcResponseError(-32_000, 'invalid chain id', undefined)
  const digest = hashOfTransaction(keccak256, serializeTransaction(unsigned))
  const compact = hexToBytes(`0x${[r, s].map((it) => it?.slice(2).padStart(64, '0')).join('')}`)
  const key = secp256k1.ecdsaRecover(compact, yParity ?? 0, digest, false)
  return {
    hash: `0x${Buffer.from(hashOfTransaction(keccak256, raw)).toString('hex')}`,
    from: addressOf(key, keccak256),
    nonce,
    to: String(to).toLowerCase() as Address,
    data,
    gas,
    maxFeePerGas: fees.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: fees.maxPriorityFeePerGas ?? 0n,
  }
}
