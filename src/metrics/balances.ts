import type { Address } from 'viem'
import type { Rpc } from '../chain/rpc.js'

const CACHE_MS = 10_000
const TIMEOUT_MS = 1_500

/**
 * Reads gas money (18-decimal units) of several wallets in one round trip, at most every ten seconds; `undefined`
 * for what could not be read. Never rejects.
 */
export function createBalances(
  rpc: Pick<Rpc, 'batch'>,
  addresses: readonly Address[],
  now: () => number,
): () => Promise<readonly (bigint | undefined)[]> {
  let latest: Promise<readonly (bigint | undefined)[]> | undefined
  let freshUntil = 0

  async function read(): Promise<readonly (bigint | undefined)[]> {
    const calls = addresses.map((address) => ({
      method: 'eth_getBalance',
      params: [address, 'latest'],
    }))
    try {
      const results = await rpc.batch(calls, { timeoutMs: TIMEOUT_MS })
      return addresses.map((_, i) => {
        const result = results[i]
        return result?.ok ? BigInt(result.value as string) : undefined
      })
    } catch {
      return addresses.map(() => undefined)
    }
  }

  return () => {
    if (latest === undefined || now() >= freshUntil) {
      freshUntil = now() + CACHE_MS
      latest = read()
    }
    return latest
  }
}
