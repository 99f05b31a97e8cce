import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { NetworkConfig } from '../../app/config/config.js'
import type { MinAmount } from '../../app/config/setting-types.js'
import { createRpc } from '../../chain/rpc.js'
import { readBalance, readToken, type Token } from '../../chain/token.js'

/** A cent of a dollar or a euro, 6-decimal units. */
const CENT = 10_000n
const VALID_SECONDS = 120
/** Beyond the longest wait of settle, so that a pending answer is read and not cut. */
const TIMEOUT_MS = 100_000

interface CanaryOptions {
  url: string
  /** `asset` is one of the tokens of the settings. */
  place: NetworkConfig & { asset: Address }
  keys: readonly [Hex, Hex]
  /** The smallest payments that the service takes. */
  minAmount: MinAmount
}

/** The outcome of one payment, with the time that each step took. */
export type CanaryResult = { verifySeconds?: number; settleSeconds?: number } & (
  | { ok: true; transaction: string }
  | { ok: false; problem: string }
)

export interface Canary {
  /** Pays once. Never rejects: what went wrong is the result. */
  pay(): Promise<CanaryResult>
  close(): void
}

/** Makes payments of a cent between two wallets of the operator: the richer one pays, so that neither runs dry. */
export async function openCanary({ url, place, keys, minAmount }: CanaryOptions): Promise<Canary> {
  const rpc = createRpc(place.rpcUrls)
  const keccak256 = await createKeccak256()
  const accounts = keys.map((key) => privateKeyToAccount(key))

  async function attempt(steps: { verifySeconds?: number; settleSeconds?: number }) {
    const token = await readToken(rpc, keccak256, place)
    const least = minAmount.bySymbol[token.symbol] ?? minAmount.least
    const amount = least > CENT ? least : CENT
    const balances = await Promise.all(accounts.map((it) => readBalance(rpc, token, it.address)))
    const [a = 0n, b = 0n] = balances
    const [payer, payee] = a >= b ? accounts : [...accounts].reverse()
    if (payer === undefined || payee === undefined) throw new Error('two wallets are needed')
    if ((a > b ? a : b) < amount) {
      throw new Error(`neither wallet holds a cent of ${token.name}: send some to ${payer.address}`)
    }
    const body = JSON.stringify(await signBody(payer, payee.address, token, amount))
    const startedAt = performance.now()
    const verified = await post(`${url}/verify`, body)
    steps.verifySeconds = (performance.now() - startedAt) / 1000
    if (verified.isValid !== true) {
      throw new Error(`verify says ${verified.invalidReason}: ${verified.invalidMessage}`)
    }
    const verifiedAt = performance.now()
    const settled = await post(`${url}/settle`, body)
    steps.settleSeconds = (performance.now() - verifiedAt) / 1000
    if (settled.success === true) return String(settled.transaction)
    throw new Error(`settle says ${settled.errorReason}: ${settled.errorMessage}`)
  }

  return {
    async pay() {
      const steps: { verifySeconds?: number; settleSeconds?: number } = {}
      try {
        return { ok: true, transaction: await attempt(steps), ...steps }
      } catch (error) {
        return { ok: false, problem: explain(error), ...steps }
      }
    },
    close: () => void rpc.close(),
  }
}

/** Returns the body that `/verify` and `/settle` take. */
async function signBody(
  payer: ReturnType<typeof privateKeyToAccount>,
  payTo: Address,
  { name, version, network, address: asset }: Token,
  amount: bigint,
) {
  const accepted = {
    scheme: 'exact',
    network: network as `${string}:${string}`,
    amount: amount.toString(),
    asset,
    payTo,
    maxTimeoutSeconds: VALID_SECONDS,
    extra: { name, version },
  }
  const signed = await new ExactEvmScheme(payer).createPaymentPayload(2, accepted)
  return {
    x402Version: 2,
    paymentPayload: { ...signed, accepted },
    paymentRequirements: accepted,
  }
}

async function post(url: string, body: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return (await response.json()) as Record<string, unknown>
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return `${error.message}${code}`
}
