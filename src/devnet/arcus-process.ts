import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { devnetBuyback, devnetHost } from './accounts.js'
import { type Child, type ChildExit, superviseChild } from './child.js'
import { DevnetError } from './devnet-error.js'

const readyTimeoutMs = 30_000
const pollMs = 50
// Long enough to finish a settlement that waits for its block.
const stopGraceMs = 5_000

export type ArcusOptions = {
  port: number
  rpcUrl: string
  relayerKeys: readonly Hex[]
  /** As `sqlite:PATH`. */
  databaseUrl: string
  /** What the person exported; the settings above win over it. */
  env: NodeJS.ProcessEnv
}

export type Arcus = { url: string; stop(): Promise<void>; exited: Promise<ChildExit> }

/** Starts the service from its sources in a process of its own and resolves when `/health` and `/ready` say 200. */
export async function startArcus(options: ArcusOptions): Promise<Arcus> {
  const entry = fileURLToPath(new URL('../main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', entry], {
    // Where `tsx` is found from.
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: settingsOf(options),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const supervised = superviseChild(child, stopGraceMs)
  const url = `http://127.0.0.1:${options.port}`
  try {
    await becomesReady(url, supervised)
  } catch (error) {
    await supervised.stop()
    throw error
  }
  return { url, ...supervised }
}

function settingsOf(options: ArcusOptions): NodeJS.ProcessEnv {
  return {
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    // The sample API, and whatever is being built on this machine, may be listed.
    PROBE_ALLOW_PRIVATE_HOSTS: 'true',
    HOSTED_ENDPOINTS: 'true',
    HOSTED_PRIVATE_KEY: devnetHost.privateKey,
    BUYBACK_ADDRESS: devnetBuyback.address,
    HOSTED_CLAIM_SECONDS: '10',
    // A blank one hides what a `.env` meant for production says.
    TESTNET_RPC_URLS: '',
    MAINNET_PUBLIC_RPC_URLS: options.rpcUrl,
    DEVNET: 'true',
    ...options.env,
    PORT: String(options.port),
    MAINNET_RPC_URLS: options.rpcUrl,
    RELAYER_PRIVATE_KEYS: options.relayerKeys.join(','),
    RELAYER_PRIVATE_KEYS_FILE: '',
    DATABASE_URL: options.databaseUrl,
  }
}

async function becomesReady(url: string, { exited, isGone }: Child): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  let complaint = 'no answer'
  while (!isGone() && Date.now() < deadline) {
    const answer = (await unwell(`${url}/health`)) ?? (await unwell(`${url}/ready`))
    if (answer === undefined) return
    complaint = answer
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  if (isGone())
    throw new DevnetError(`Arcus stopped while starting (${describeExit(await exited)}).`)
  throw new DevnetError(
    `Arcus was not ready within ${readyTimeoutMs / 1000} seconds: ${complaint}.`,
  )
}

async function unwell(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
    const text = await response.text()
    return response.status === 200 ? undefined : text.slice(0, 500)
  } catch {
    return 'no answer'
  }
}

/** How a process ended, in words for a sentence. */
export function describeExit({ code, signal }: ChildExit): string {
  if (signal !== null) return `killed by ${signal}`
  return code === null ? 'it could not be started' : `exit code ${code}`
}
