import { readUpTo } from '@arcus/client/body'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import type {
  Network,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch'
import { type Address, formatUnits } from 'viem'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../devnet/accounts.js'
import { devnetContracts, nativeBalance, usdcBalance } from '../devnet/fixtures.js'
import { CommandError, defineCommand, parseHttpUrl, print, printError } from './command-line.js'

const help = `npm run pay [-- [URL] [OPTIONS]]

Pays a paid API with the official x402 client, from the payer of \`npm run dev\`.

  URL              default http://localhost:4022/quote
  --print          sign the payment, but do not send it: print the body of a request to /verify or /settle as JSON
                   (npm run -s pay -- --print | curl -d @- -H content-type:application/json URL/verify)
  --rpc URL        the devnet's RPC, default http://127.0.0.1:8545
  --help           this text`

const network: Network = 'eip155:5042'
// A dollar in atomic units. The devnet never asks for more.
const maxAmountPerPayment = '1000000'
/** Bytes of an answer that are shown. */
const MAX_BODY_BYTES = 1_048_576

type Balances = { payer: bigint; merchant: bigint; relayers: bigint }

const config = {
  allowPositionals: true,
  options: {
    print: { type: 'boolean', default: false },
    rpc: { type: 'string', default: 'http://127.0.0.1:8545' },
  },
} as const

export const command = defineCommand(help, config, async ({ values, positionals }) => {
  const url = parseHttpUrl('The URL', positionals[0] ?? 'http://localhost:4022/quote')
  const rpcUrl = parseHttpUrl('--rpc', values.rpc)
  return values.print ? print(await signRequest(url)) : pay(url, rpcUrl)
})

async function pay(url: string, rpcUrl: string): Promise<number> {
  const before = await readBalances(rpcUrl).catch(() => {
    throw new CommandError(
      `No devnet answers at ${rpcUrl}: start it with \`npm run dev\` in another terminal.`,
    )
  })
  let asked: PaymentRequired | undefined
  const fetchPaid = payingFetch((offer) => {
    asked = offer
  })
  const response = await fetchPaid(url).catch(cannotBePaid(url))
  const { bytes, cut } = await readUpTo(response, MAX_BODY_BYTES)
  const settlement = settlementOf(response)
  print(`\n${url}\n`)
  print(`  price         ${describePrice(asked?.accepts[0])}`)
  print(`  answer        ${response.status} ${response.statusText}   ${Buffer.from(bytes)}`)
  print(`  transaction   ${settlement?.transaction || 'none'}\n`)
  const after = await readBalances(rpcUrl)
  printBalances(before, after)
  if (response.ok && cut !== 'broken' && settlement?.success) return 0
  // The official client pays whatever asks for no more than its limit.
  const call = { isSigned: asked !== undefined, spent: before.payer - after.payer }
  printError(complaintOf(response, settlement, call))
  return 1
}

/** The facts of a call apart from its answer. */
interface CallFacts {
  isSigned: boolean
  /** What left the wallet of the payer meanwhile, in 6 decimals. */
  spent: bigint
}

/** Says why a call failed, and whether it was charged all the same. */
export function complaintOf(
  response: Pick<Response, 'ok' | 'status' | 'headers'>,
  settlement: Pick<SettleResponse, 'success' | 'transaction' | 'errorReason'> | undefined,
  { isSigned, spent }: CallFacts,
): string {
  const { success = false, transaction = '', errorReason } = settlement ?? {}
  if (success) return `Charged, although the call failed: transaction ${transaction}.`
  if (spent > 0n) {
    const named =
      transaction === '' ? 'the seller names no transaction' : `transaction ${transaction}`
    return `Charged ${formatUnits(spent, 6)} USDC, although the call failed: ${named}.`
  }
  const refusal = errorReason ?? refusalOf(response)
  if (refusal === undefined && isSigned) {
    return `Not known whether it is paid: the payment was signed, and the seller answered ${response.status} without saying what became of it.`
  }
  const why = withoutPeriod(refusal ?? 'nothing was asked')
  return transaction === ''
    ? `Not paid: ${why}.`
    : `Not known yet whether it is paid: ${why}, transaction ${transaction}.`
}

/** Signs a payment for the URL without sending it. Resolves to the JSON that /verify and /settle take. */
async function signRequest(url: string): Promise<string> {
  const response = await fetch(url).catch(cannotBePaid(url))
  const header = response.headers.get('payment-required')
  if (header === null) {
    throw new CommandError(`${url} asks for no payment: it answers ${response.status}.`)
  }
  const paymentPayload = await officialClient()
    .createPaymentPayload(decodePaymentRequiredHeader(header))
    .catch(cannotBePaid(url))
  const { x402Version, accepted: paymentRequirements } = paymentPayload
  return JSON.stringify({ x402Version, paymentPayload, paymentRequirements }, null, 2)
}

function cannotBePaid(url: string): (error: unknown) => never {
  return (error) => {
    throw new CommandError(`${url} could not be paid: ${reasonOf(error)}`)
  }
}

/** Makes the official client of the devnet's payer. Before 2.28.0 it knows no asset on Arc, so its spend controls allow one. */
function officialClient(): x402Client {
  const asset = devnetContracts.usdc
  return x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
    spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment }] },
  })
}

function payingFetch(onAsked: (offer: PaymentRequired) => void) {
  const httpClient = new x402HTTPClient(officialClient()).onPaymentRequired(
    async ({ paymentRequired }) => onAsked(paymentRequired),
  )
  return wrapFetchWithPayment(fetch, httpClient)
}

function settlementOf(response: Response): SettleResponse | undefined {
  const header = response.headers.get('payment-response')
  return header === null ? undefined : decodePaymentResponseHeader(header)
}

function refusalOf(response: Pick<Response, 'headers'>): string | undefined {
  const header = response.headers.get('payment-required')
  return header === null ? undefined : decodePaymentRequiredHeader(header).error
}

/** Some texts of others are whole sentences. */
function withoutPeriod(text: string): string {
  return text.replace(/\.$/, '')
}

/** Returns the reason as a sentence, followed by the next step where nothing listens at the URL. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const detail = code === undefined ? '' : ` (${code})`
  const fix =
    code === 'ECONNREFUSED' ? ' Nothing listens there: start the seller or correct the URL.' : ''
  return `${withoutPeriod(message)}${detail}.${fix}`
}

async function readBalances(rpcUrl: string): Promise<Balances> {
  const gas = devnetRelayers.map(({ address }) => nativeBalance(rpcUrl, address))
  const usdc = (address: Address) => usdcBalance(rpcUrl, address)
  const [payer, merchant, ...relayers] = await Promise.all([
    usdc(devnetPayer.address),
    usdc(devnetMerchant.address),
    ...gas,
  ])
  return {
    payer: payer ?? 0n,
    merchant: merchant ?? 0n,
    relayers: relayers.reduce((a, b) => a + b, 0n),
  }
}

function describePrice(offer: PaymentRequirements | undefined): string {
  if (offer === undefined) return 'none was asked'
  return `${formatUnits(BigInt(offer.amount), 6)} USDC to ${offer.payTo} on ${offer.network}`
}

function printBalances(before: Balances, after: Balances): void {
  print(line('USDC', 'before', 'after', 'change'))
  print(balanceLine('payer', before.payer, after.payer, 6))
  print(balanceLine('merchant', before.merchant, after.merchant, 6))
  // Gas on Arc is paid in the same dollar, counted in 18 decimals.
  print(balanceLine('relayer gas', before.relayers, after.relayers, 18))
  print()
}

function balanceLine(name: string, before: bigint, after: bigint, decimals: number): string {
  const sign = after > before ? '+' : ''
  const shown = [before, after, after - before].map((it) => trimmed(formatUnits(it, decimals)))
  return line(name, shown[0] ?? '', shown[1] ?? '', `${sign}${shown[2]}`)
}

// Nine decimals show a gwei of gas.
function trimmed(amount: string): string {
  return amount.replace(/(\.\d{9})\d+$/, '$1')
}

function line(name: string, ...cells: string[]): string {
  return `  ${name.padEnd(12)}${cells.map((cell) => cell.padStart(16)).join('')}`
}
