import { type Hex, toHex } from 'viem'
import { callBatch } from './rpc.js'

// Arc's mainnet genesis: base fee between 20 and 20,000 gwei, aimed at half-full blocks.
const minBaseFeeWei = 20n * 10n ** 9n
const maxBaseFeeWei = 20_000n * 10n ** 9n
const maxChangeDivisor = 50n

export type BlockProducerOptions = {
  url: string
  /** Default 500, Arc's block time. */
  intervalMs?: number
}

export type BlockProducer = {
  /** Resolves once the block in the making is done; none follows. */
  stop(): Promise<void>
}

type Head = { baseFeePerGas: bigint; gasUsed: bigint; gasLimit: bigint; timestamp: bigint }

/**
 * Mines the blocks of an anvil in manual mode at Arc's pace and base fee.
 * A tick that fails is passed over and the next one starts from what the node says.
 */
export async function startBlockProducer(options: BlockProducerOptions): Promise<BlockProducer> {
  const { url, intervalMs = 500 } = options
  const stopping = new AbortController()
  const done = produce(url, intervalMs, await readHead(url), stopping.signal)
  return {
    stop: () => {
      stopping.abort()
      return done
    },
  }
}

/** Base fee after a block: at most 2 % towards the use of half the gas limit, within Arc's floor and cap. */
export function nextBaseFeeWei(head: Omit<Head, 'timestamp'>): bigint {
  const target = head.gasLimit / 2n
  const change = (head.baseFeePerGas * (head.gasUsed - target)) / target / maxChangeDivisor
  const fee = head.baseFeePerGas + change
  if (fee < minBaseFeeWei) return minBaseFeeWei
  return fee > maxBaseFeeWei ? maxBaseFeeWei : fee
}

async function produce(url: string, intervalMs: number, first: Head, signal: AbortSignal) {
  let head: Head | undefined = first
  let due = Date.now()
  while (!signal.aborted) {
    head = await mineBlock(url, head).catch(() => undefined)
    // After a slow block the pace starts anew, so that no burst of blocks makes up for it.
    due = Math.max(due + intervalMs, Date.now())
    await pause(due - Date.now(), signal)
  }
}

/**
 * Mines one block with everything pending that fits (`evm_mine` has no limit but gas) and answers it as the new head.
 *
 * Seen with anvil 1.7.1: the elements of a batch run in order. A block may share its second with its
 * parent, a lower timestamp is refused. Left alone, anvil follows the wall clock and does not run ahead,
 * but a whole second late at times, for it counts from its own start; hence the explicit timestamp, which
 * is the wall clock's second. A transaction whose fee cap is below the base fee of the block is dropped
 * from the pool and not kept for a cheaper one.
 */
async function mineBlock(url: string, known: Head | undefined): Promise<Head> {
  const head = known ?? (await readHead(url))
  const now = BigInt(Math.floor(Date.now() / 1000))
  const timestamp = now > head.timestamp ? now : head.timestamp
  const answers = await callBatch(url, [
    ['evm_setNextBlockTimestamp', [toHex(timestamp)]],
    ['anvil_setNextBlockBaseFeePerGas', [toHex(nextBaseFeeWei(head))]],
    ['evm_mine'],
    latestBlock,
  ])
  return headOf(answers.at(-1))
}

const latestBlock = ['eth_getBlockByNumber', ['latest', false]] as const

async function readHead(url: string): Promise<Head> {
  const [block] = await callBatch(url, [latestBlock])
  return headOf(block)
}

function headOf(block: unknown): Head {
  const { baseFeePerGas, gasUsed, gasLimit, timestamp } = block as Record<keyof Head, Hex>
  return {
    baseFeePerGas: BigInt(baseFeePerGas ?? 0),
    gasUsed: BigInt(gasUsed),
    gasLimit: BigInt(gasLimit),
    timestamp: BigInt(timestamp),
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
  })
}
