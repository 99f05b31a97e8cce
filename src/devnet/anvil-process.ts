import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { type Child, type ChildExit, superviseChild } from './child.js'
import { DevnetError } from './devnet-error.js'
import { freePort, requireFreePort } from './ports.js'
import { call } from './rpc.js'

const host = '127.0.0.1'
const startTimeoutMs = 15_000
// A forked chain is asked over the network before anvil answers anything.
const forkTimeoutMs = 60_000
const stopGraceMs = 2_000
const maxComplaint = 300

export type AnvilOptions = {
  /** Default 5042, Arc mainnet. */
  chainId?: number
  /** 0, the default, takes any free port. */
  port?: number
  /** A block per transaction, only on `evm_mine`, or one every so many seconds. Default `auto`. */
  mining?: 'auto' | 'manual' | number
  forkUrl?: string
  /** Base fee of the first block. */
  baseFeeWei?: bigint
  blockGasLimit?: bigint
  extraArgs?: readonly string[]
}

export type Anvil = {
  url: string
  port: number
  pid: number
  /** Ends the process, by force after two seconds; resolves once it is gone. */
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

/** Path of the anvil binary: the one on PATH, else the npm package's; throws a `DevnetError` naming the cure. */
export function findAnvil(path = process.env.PATH ?? '', resolvePackage = packageFolder): string {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  const packaged = resolvePackage()
  if (packaged !== undefined) folders.push(join(packaged, 'bin'))
  const found = folders.map((folder) => join(folder, 'anvil')).find(isExecutable)
  if (found !== undefined) return found
  throw new DevnetError(
    'anvil was not found: run `npm ci` on Linux x64, or install Foundry from https://getfoundry.sh and put anvil on your PATH.',
  )
}

function packageFolder(): string | undefined {
  try {
    const resolve = createRequire(import.meta.url).resolve
    return dirname(resolve('@foundry-rs/anvil-linux-amd64/package.json'))
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

/** Keeps the pipe drained and the beginning of what anvil complained about at hand. */
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
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
  return false
}
