import { formatAtomic, formatNative } from '@arcus/protocol/x402/amounts'
import type { Address } from 'viem'
import { createChainClient } from '../../chain/client.js'
import { readRegistryVersion } from '../../chain/identity-registry.js'
import type { Rpc } from '../../chain/rpc.js'
import {
  readIsBlocklisted as isBlocklistedBy,
  readBalance,
  readHasMulticall3,
  type Token,
  TokenMismatchError,
} from '../../chain/token.js'
import type { NetworkConfig } from '../config/config.js'
import type { ReadRunway } from '../metrics/gas-money.js'
import { type Finding, fail, ok, warn } from './finding.js'

type ChainPlace = Pick<NetworkConfig, 'network' | 'chainId' | 'assets'>

const READ_TIMEOUT_MS = 3_000
/** Arc makes a block in less than a second. */
const STALE_HEAD_SECONDS = 30
/** The margin of verify before a payment expires. A clock that is off by more refuses good payments. */
const MAX_CLOCK_SECONDS = 5
/** Nodes of one provider are a block or two apart. */
const MAX_LAG_BLOCKS = 10

/**
 * Checks whether the chain is that of the settings and each asset a token that can be settled. One that cannot is a warning
 * while others can, because payments in those go on.
 */
export async function checkTokens(
  place: Pick<ChainPlace, 'network' | 'chainId'>,
  readers: readonly (() => Promise<Token>)[],
): Promise<Finding> {
  const name = `chain ${place.network}`
  const group = variables(place)
  const read = await Promise.allSettled(readers.map((readToken) => readToken()))
  const tokens = read.filter((it) => it.status === 'fulfilled').map(({ value }) => value)
  const errors = read.filter((it) => it.status === 'rejected').map(({ reason }) => reason as Error)
  const isUnread = errors.some((error) => !(error instanceof TokenMismatchError))
  if (isUnread) {
    return fail(name, 'the chain cannot be read', `Check ${group}_RPC_URLS and the network.`)
  }
  const sound = tokens.map((token) => `token "${token.name}" version "${token.version}"`)
  const detail = [`chain id ${place.chainId}`, ...sound].join(', ')
  if (errors.length === 0) return ok(name, detail)
  const faults = errors.map(({ message }) => message).join('; ')
  const fix = `Correct ${group}_RPC_URLS or ${group}_ASSETS.`
  if (tokens.length === 0) return fail(name, faults, fix)
  return warn(name, `${detail}; payments in another token are refused: ${faults}`, fix)
}

/** Checks every node, by its position in the settings: whether it answers, its chain, and how far behind it is. */
export async function checkNodes(rpc: Rpc, place: ChainPlace): Promise<Finding[]> {
  const options = { timeoutMs: READ_TIMEOUT_MS }
  const [chainIds, heads] = await Promise.all([
    rpc.everywhere('eth_chainId', [], options),
    rpc.everywhere('eth_blockNumber', [], options),
  ])
  const numbers = heads.map((head) => (head.ok ? Number(head.value) : undefined))
  const best = Math.max(0, ...numbers.map((number) => number ?? 0))
  const some = chainIds.some((answer) => answer.ok)
  return chainIds.map((answer, i) => {
    const name = `node ${i + 1} of ${place.network}`
    const setting = `${variables(place)}_RPC_URLS`
    if (!answer.ok) {
      const say = some ? warn : fail
      return say(name, 'does not answer', `Check entry ${i + 1} of ${setting}.`)
    }
    if (Number(answer.value) !== place.chainId) {
      const detail = `serves chain id ${Number(answer.value)}, expected ${place.chainId}`
      return fail(name, detail, `Remove entry ${i + 1} of ${setting}.`)
    }
    const number = numbers[i]
    if (number === undefined || best - number > MAX_LAG_BLOCKS) {
      const lag = number === undefined ? 'reports no block' : `is ${best - number} blocks behind`
      return warn(name, lag, `Ask its operator, or take entry ${i + 1} out of ${setting}.`)
    }
    return ok(name, `at block ${number}`)
  })
}

/** Compares the chain's time with ours. `now` is in Unix milliseconds. */
export async function checkClock(
  rpc: Rpc,
  { network }: ChainPlace,
  now: () => number,
): Promise<Finding> {
  const name = `clock ${network}`
  try {
    const { timestamp } = await createChainClient(rpc, { timeoutMs: READ_TIMEOUT_MS }).getBlock()
    const ahead = Number(timestamp) - now() / 1000
    if (ahead > MAX_CLOCK_SECONDS) {
      const detail = `this machine is ${Math.round(ahead)} seconds behind the chain`
      return fail(name, detail, 'Set the clock: payments are checked by it. Run an NTP client.')
    }
    if (-ahead > STALE_HEAD_SECONDS) {
      return warn(
        name,
        `the newest block is ${Math.round(-ahead)} seconds old`,
        "The chain or the node has stopped, or this machine's clock is ahead. Compare with another node.",
      )
    }
    return ok(name, `the newest block is ${Math.max(0, -ahead).toFixed(1)} seconds old`)
  } catch {
    return fail(name, 'the newest block cannot be read', 'Repair the nodes first.')
  }
}

export async function checkMulticall(rpc: Rpc, { network }: ChainPlace): Promise<Finding> {
  const name = `multicall ${network}`
  const has = await readHasMulticall3(rpc).catch(() => undefined)
  if (has === true)
    return ok(name, 'Multicall3 is deployed at its address; payments share transactions')
  const detail =
    has === false ? 'there is no Multicall3: payments are sent one by one' : 'it cannot be read'
  return warn(name, detail, 'Have it deployed at its canonical address; each payment costs more.')
}

/** Checks the ERC-8004 registry. Without it listings have no identity, but payments are not affected. */
export async function checkRegistry(
  rpc: Rpc,
  { network }: ChainPlace,
  registry: `0x${string}`,
): Promise<Finding> {
  const name = `identity registry ${network}`
  const version = await readRegistryVersion(rpc, registry).catch(() => undefined)
  return version === undefined
    ? warn(
        name,
        'there is none at its address',
        'Listings have no identity until it is there; payments are not affected.',
      )
    : ok(name, `ERC-8004, version ${version}`)
}

/**
 * Reads whether a token of the network blocks an address; `undefined` if none of them answers. Throws
 * `RpcUnavailableError`.
 */
export async function readIsBlocklisted(
  rpc: Rpc,
  { assets }: ChainPlace,
  address: Address,
): Promise<boolean | undefined> {
  const options = { timeoutMs: READ_TIMEOUT_MS }
  const read = assets.map((asset) => isBlocklistedBy(rpc, asset, address, options))
  const answers = (await Promise.all(read)).filter((answer) => answer !== undefined)
  return answers.length === 0 ? undefined : answers.includes(true)
}

/** Returns `MAINNET` or `TESTNET`, the beginning of the network's variables. */
export function variables({ network }: Pick<ChainPlace, 'network'>): string {
  return network === 'eip155:5042' ? 'MAINNET' : 'TESTNET'
}

/** A wallet that pays the gas, in its present state. */
interface Wallet {
  address: Address
  /** 18-decimal units; `undefined` when it could not be read. */
  balance: bigint | undefined
  /** The reason why its lane is closed, if a running service reports one. */
  closed?: string | undefined
  isBlocklisted?: boolean | undefined
}

/** A wallet that cannot pay for this much gas cannot settle. */
export const LEAST_GAS = 500_000n
/** The millionth of a dollar in 18-decimal units: people are shown no less. */
const MILLIONTH = 10n ** 12n
/** Alerts of `deploy/prometheus` have the same bounds. */
export const LOW_RUNWAY_DAYS = 7
const SHORT_RUNWAY_DAYS = 1
/** Beyond this a number of days is meaningless. */
const LONG_RUNWAY_DAYS = 3_650

/** Reads the gas money of each wallet in one round trip. Never rejects. */
export async function readWallets(rpc: Rpc, addresses: readonly Address[]): Promise<Wallet[]> {
  const client = createChainClient(rpc)
  return Promise.all(
    addresses.map(async (address) => {
      const balance = await client.getBalance({ address }).catch(() => undefined)
      return { address, balance }
    }),
  )
}

/**
 * Checks whether a wallet can pay for the next settlement. One is enough; each that cannot is a warning. `feePerGas` is
 * in 18-decimal units.
 */
export async function checkWallets(
  network: string,
  wallets: readonly Wallet[],
  feePerGas: bigint,
  readRunway: ReadRunway | undefined,
): Promise<Finding> {
  const name = `relayers ${network}`
  const states = wallets.map((wallet) => checkWallet(wallet, feePerGas * LEAST_GAS))
  const sum = wallets.reduce((total, { balance }) => total + (balance ?? 0n), 0n)
  const isKnown = wallets.some(({ balance }) => balance !== undefined)
  const days = (isKnown ? await readRunway?.(sum) : undefined) ?? Number.POSITIVE_INFINITY
  const detail = [...states.map((state) => state.detail), ...describeRunway(days)].join('; ')
  const fund = 'Send USDC on this network to the wallets named.'
  if (!states.some((state) => state.isUsable)) return fail(name, detail, fund)
  if (days < SHORT_RUNWAY_DAYS) return warn(name, detail, `${fund} They are dry within a day.`)
  const isLow = days < LOW_RUNWAY_DAYS || !states.every((state) => state.isUsable)
  return isLow ? warn(name, detail, fund) : ok(name, detail)
}

function checkWallet({ address, balance, closed, isBlocklisted }: Wallet, needed: bigint) {
  if (balance === undefined) return { isUsable: false, detail: `${address} cannot be read` }
  const shown = `${address} holds ${formatNative(balance - (balance % MILLIONTH))} USDC`
  if (isBlocklisted) return { isUsable: false, detail: `${shown}, blocked by the token` }
  if (closed !== undefined) return { isUsable: false, detail: `${shown}, closed: ${closed}` }
  const isUsable = balance > 0n && balance > needed
  return { isUsable, detail: isUsable ? shown : `${shown}: fund it` }
}

/** Returns nothing while nothing is spent. */
function describeRunway(days: number): string[] {
  if (!Number.isFinite(days)) return []
  const rounded = days < 10 ? days.toFixed(1) : Math.floor(days).toString()
  const span = days > LONG_RUNWAY_DAYS ? 'more than 10 years' : `${rounded} days`
  return [`gas money for ${span} at the pace of the last 24 hours`]
}

/**
 * Checks whether the wallets of paid checks can buy. `most` is the most that one check may cost, in the units of `dollars`,
 * which is `undefined` where no dollars are settled.
 */
export async function checkBuyers(
  rpc: Rpc,
  dollars: Token | undefined,
  wallets: readonly Address[],
  most: bigint,
): Promise<Finding[]> {
  if (wallets.length === 0) return []
  const name = 'wallets of paid checks'
  if (dollars === undefined) {
    return [warn(name, 'no dollars are settled: nothing is bought', 'Serve a token of dollars.')]
  }
  const options = { timeoutMs: READ_TIMEOUT_MS }
  const states = await Promise.all(
    wallets.map(async (address) => {
      const balance = await readBalance(rpc, dollars, address).catch(() => undefined)
      if (balance === undefined) return { can: false, detail: `${address} cannot be read` }
      const isBlocked = await isBlocklistedBy(rpc, dollars.address, address, options)
      const shown = `${address} holds ${formatAtomic(balance)} ${dollars.symbol}`
      if (isBlocked) return { can: false, detail: `${shown}, blocked by the token` }
      const can = balance >= most
      return { can, detail: can ? shown : `${shown}: fund it` }
    }),
  )
  const detail = states.map((state) => state.detail).join('; ')
  if (states.every(({ can }) => can)) return [ok(name, detail)]
  const fix = `Send ${dollars.symbol} on this network to the wallets named.`
  if (states.some(({ can }) => can)) return [warn(name, detail, fix)]
  return [warn(name, `none can pay ${formatAtomic(most)}, so nothing is bought: ${detail}`, fix)]
}
