import type { Rpc } from './chain/rpc.js'
import { readToken, TokenMismatchError } from './chain/token.js'
import type { ReadinessCheck } from './http/health.js'
import type { ReadRunway } from './metrics/runway.js'
import type { Relayer } from './relayer/relayer.js'
import type { SettlementJournal } from './store/settlement-journal.js'
import { formatNative } from './x402/amounts.js'
import type { Keccak256 } from './x402/keccak.js'

/** What readiness must reach of one served network. */
export interface ReadyNetwork {
  network: string
  chainId: number
  asset: `0x${string}`
  rpc: Rpc
  relayer: Relayer
  /** 18-decimal units a gas of the next transaction; undefined before the first block. */
  feePerGas(): bigint | undefined
  readRunway: ReadRunway
}

/** A wallet that cannot pay for this much gas cannot settle. */
const LEAST_GAS = 500_000n

/** Everything without which a payment could not be settled, each with its reason. */
export function createReadinessChecks(
  journal: SettlementJournal,
  keccak256: Keccak256,
  networks: readonly ReadyNetwork[],
): ReadinessCheck[] {
  return [
    {
      name: 'journal',
      async check() {
        const ok = await journal.isWritable()
        return { ok, detail: ok ? 'writable' : 'the journal cannot be written: look at the disk' }
      },
    },
    ...networks.flatMap((network) => [chainCheck(network, keccak256), relayerCheck(network)]),
  ]
}

function chainCheck({ network, chainId, asset, rpc }: ReadyNetwork, keccak256: Keccak256) {
  return {
    name: `chain ${network}`,
    async check() {
      try {
        const token = await readToken(rpc, keccak256, { network, chainId, asset })
        return {
          ok: true,
          detail: `chain id ${chainId}, token "${token.name}" version "${token.version}"`,
        }
      } catch (error) {
        const detail =
          error instanceof TokenMismatchError ? error.message : 'the chain cannot be read'
        return { ok: false, detail }
      }
    },
  }
}

function relayerCheck(served: ReadyNetwork): ReadinessCheck {
  const { network, rpc, relayer, feePerGas, readRunway } = served
  return {
    name: `relayers ${network}`,
    async check() {
      const results = await rpc.batch(
        relayer.addresses.map((address) => ({
          method: 'eth_getBalance',
          params: [address, 'latest'],
        })),
      )
      const needed = (feePerGas() ?? 0n) * LEAST_GAS
      const balances = relayer.addresses.map((_, i) => {
        const result = results[i]
        return result?.ok ? BigInt(result.value as string) : 0n
      })
      const states = relayer.lanes().map((lane, i) => {
        const balance = balances[i] ?? 0n
        const closed = lane.closedBecause()
        const isFunded = balance > needed && balance > 0n
        const shown = `${lane.address} holds ${formatNative(balance)} USDC`
        if (closed !== undefined) return { ok: false, detail: `${shown}, closed: ${closed}` }
        return { ok: isFunded, detail: isFunded ? shown : `${shown}: fund it` }
      })
      const ok = states.some((state) => state.ok)
      const details = states.map((state) => state.detail)
      return {
        ok,
        detail: [...details, ...(await describeRunway(balances, readRunway))].join('; '),
      }
    },
  }
}

/** Says nothing while nothing is spent. */
async function describeRunway(balances: bigint[], readRunway: ReadRunway): Promise<string[]> {
  const days = await readRunway(balances.reduce((sum, balance) => sum + balance, 0n))
  if (!Number.isFinite(days)) return []
  const rounded = days < 10 ? days.toFixed(1) : Math.floor(days).toString()
  return [`gas money for ${rounded} days at the pace of the last 24 hours`]
}
