import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, toHex } from 'viem'
import { toSeconds } from '../async/time.js'
import {
  type Child,
  type ChildExit,
  DevnetError,
  freePort,
  requireFreePort,
  superviseChild,
} from './process.js'
import { call, callBatch } from './rpc.js'

const host = '127.0.0.1'
const startTimeoutMs = 15_000
// anvil reads a forked chain over the network before it answers anything.
const forkTimeoutMs = 60_000
const stopGraceMs = 2_000
const maxComplaint = 300

type AnvilOptions = {
  /** Default 5042, Arc mainnet. */
  chainId?: number
  /** 0, the default, takes any free port. */
  port?: number
  /** A block per transaction, only on `evm_mine`, or one at each interval, in seconds. Default `auto`. */
  mining?: 'auto' | 'manual' | number
  forkUrl?: string
  baseFeeWei?: bigint
  blockGasLimit?: bigint
  extraArgs?: readonly string[]
}

export type Anvil = {
  url: string
  port: number
  pid: number
  /** Ends the process, by force after two seconds. Resolves once it is gone. */
  stop(): Promise<void>
  /** Resolves when the process ends, for whatever reason. */
  exited: Promise<ChildExit>
}

/**
 * Starts anvil on loopback and resolves when it answers `eth_chainId`.
 * Rejects with a `DevnetError` when the binary is missing, the port is taken or the start fails.
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const binary = findAnvil()
  const port = options.port || (await freePort())
  await requireFreePort(port, 'anvil', host)
  const child = spawn(binary, argumentsOf(options, port), { stdio: ['ignore', 'ignore', 'pipe'] })
  const supervised = superviseChild(child, stopGraceMs)
  const { stop, exited } = supervised
  const complaint = readComplaint(child)
  const url = `http://${host}:${port}`
  const timeoutMs = options.forkUrl === undefined ? startTimeoutMs : forkTimeoutMs
  const answered = await Promise.race([
    answers(url, supervised, timeoutMs),
    exited.then(() => false),
  ])
  if (!answered || child.pid === undefined) {
    await stop()
    throw new DevnetError(`anvil did not start on port ${port}: ${complaint()}`)
  }
  return { url, port, pid: child.pid, stop, exited }
}

/** Finds the anvil binary on the PATH, else in the npm package. Throws a `DevnetError` that names the remedy. */
export function findAnvil(path = process.env.PATH ?? '', resolvePackage = packageFolder): string {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  const packaged = resolvePackage()
  if (packaged !== undefined) folders.push(join(packaged, 'bin'))
  const found = folders.map((folder) => join(folder, 'anvil')).find(isExecutable)
  if (found !== undefined) return found
  throw new DevnetError(
    'anvil was not found: run `npm ci` on Linux, or install Foundry from https://getfoundry.sh and put anvil on your PATH.',
  )
}

/** The package that npm installs on this machine, if there is one. */
export const anvilPackage = `@foundry-rs/anvil-linux-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`

function packageFolder(): string | undefined {
  try {
    const resolve = createRequire(import.meta.url).resolve
    return dirname(resolve(`${anvilPackage}/package.json`))
  } catch {
    return undefined
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function argumentsOf(options: AnvilOptions, port: number): string[] {
  const { chainId = 5042, mining = 'auto', forkUrl, baseFeeWei, blockGasLimit } = options
  const args = ['--host', host, '--port', String(port), '--chain-id', String(chainId)]
  args.push('--silent')
  if (mining === 'manual') args.push('--no-mining')
  if (typeof mining === 'number') args.push('--block-time', String(mining))
  if (forkUrl !== undefined) args.push('--fork-url', forkUrl, '--no-storage-caching')
  if (baseFeeWei !== undefined) args.push('--block-base-fee-per-gas', String(baseFeeWei))
  if (blockGasLimit !== undefined) args.push('--gas-limit', String(blockGasLimit))
  return [...args, ...(options.extraArgs ?? [])]
}

/** Drains the pipe and keeps the beginning of anvil's error output. */
function readComplaint(child: ChildProcess): () => string {
  let text = ''
  child.on('error', (error) => {
    text = error.message
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(0, maxComplaint)
  })
  return () => text.replace(/\s+/g, ' ').trim() || 'it gave no reason.'
}

async function answers(url: string, { isGone }: Child, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (!isGone() && Date.now() < deadline) {
    try {
      await call(url, 'eth_chainId')
      return true
    } catch {
      await sleep(25)
    }
  }
  return false
}

// Arc's mainnet genesis: base fee between 20 and 20,000 gwei, aimed at half-full blocks.
const minBaseFeeWei = 20n * 10n ** 9n
const maxBaseFeeWei = 20_000n * 10n ** 9n
const maxChangeDivisor = 50n

type BlockProducerOptions = {
  url: string
  /** Default 500, Arc's block time. */
  intervalMs?: number
}

type BlockProducer = {
  /** Resolves once the current block is mined. No other follows. */
  stop(): Promise<void>
}

type Head = { baseFeePerGas: bigint; gasUsed: bigint; gasLimit: bigint; timestamp: bigint }

/**
 * Mines the blocks of an anvil in manual mode at Arc's pace and base fee.
 * A block that fails is skipped, and the next one starts from the state of the node.
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

/** Returns the base fee after a block: a step of at most 2 % towards half-full blocks, within Arc's floor and cap. */
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
    // After a slow block the pace starts again, so that no burst of blocks makes up for it.
    due = Math.max(due + intervalMs, Date.now())
    await sleep(due - Date.now(), undefined, { signal }).catch(() => {})
  }
}

/**
 * Mines one block with every pending transaction that fits the gas limit, and returns it as the new head.
 *
 * anvil 1.7.1 runs the elements of a batch in order. A block may share its second with its parent, and a lower timestamp
 * is refused. By itself anvil counts from its own start and may be a second behind the wall clock, so the timestamp is set
 * explicitly. A transaction whose fee cap is below the base fee of the block is dropped from the pool, not kept for a
 * cheaper one.
 */
async function mineBlock(url: string, known: Head | undefined): Promise<Head> {
  const head = known ?? (await readHead(url))
  const now = BigInt(toSeconds(Date.now()))
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
