import type { Address } from 'viem'
import type { Rpc } from '../chain/rpc.js'
import type { ReadRunway } from '../metrics/runway.js'
import { formatNative } from '../x402/amounts.js'
import { type Finding, fail, ok, warn } from './finding.js'

/** A wallet that pays the gas, as it is found. */
export interface Wallet {
  address: Address
  /** 18-decimal units; `undefined` when it could not be read. */
  balance: bigint | undefined
  /** Why it takes no payments, where a service runs that knows. */
  closed?: string | undefined
  isBlocklisted?: boolean | undefined
}

/** A wallet that cannot pay for this much gas cannot settle. */
const LEAST_GAS = 500_000n
/** Alerts of `deploy/prometheus` have the same bounds. */
export const LOW_RUNWAY_DAYS = 7
export const SHORT_RUNWAY_DAYS = 1
/** Past it a number of days says nothing any more. */
const LONG_RUNWAY_DAYS = 3_650

/** Gas money of each wallet, in one round trip. Throws `RpcUnavailableError`. */
export async function readWallets(rpc: Rpc, addresses: readonly Address[]): Promise<Wallet[]> {
  const results = await rpc.batch(
    addresses.map((address) => ({ method: 'eth_getBalance', params: [address, 'latest'] })),
  )
  return addresses.map((address, i) => {
    const result = results[i]
    const isRead = result?.ok && typeof result.value === 'string'
    return { address, balance: isRead ? BigInt(result.value as string) : undefined }
  })
}

/**
 * Whether somebody can pay for the next settlement: one wallet is enough, each that cannot is a warning. `feePerGas` is
 * in 18-decimal units.
 */
export async function checkWallets(
  network: string,
  wallets: readonly Wallet[],
  feePerGas: bigint,
  readRunway: ReadRunway | undefined,
): Promise<Finding> {
  const name = `relayers ${network}`
  const states = wallets.map((wallet) => judgeWallet(wallet, feePerGas * LEAST_GAS))
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

function judgeWallet({ address, balance, closed, isBlocklisted }: Wallet, needed: bigint) {
  if (balance === undefined) return { isUsable: false, detail: `${address} cannot be read` }
  const shown = `${address} holds ${formatNative(balance)} USDC`
  if (isBlocklisted) return { isUsable: false, detail: `${shown}, blocked by the token` }
  if (closed !== undefined) return { isUsable: false, detail: `${shown}, closed: ${closed}` }
  const isUsable = balance > 0n && balance > needed
  return { isUsable, detail: isUsable ? shown : `${shown}: fund it` }
}

/** Says nothing while nothing is spent. */
function describeRunway(days: number): string[] {
  if (!Number.isFinite(days)) return []
  const rounded = days < 10 ? days.toFixed(1) : Math.floor(days).toString()
  const span = days > LONG_RUNWAY_DAYS ? 'more than 10 years' : `${rounded} days`
  return [`gas money for ${span} at the pace of the last 24 hours`]
}
