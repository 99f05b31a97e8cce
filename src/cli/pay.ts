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
import { parseArguments, parseHttpUrl } from './arguments.js'
import { print, printError } from './print.js'

const help = `npm run pay [-- [URL] [OPTIONS]]

Pays a paid API with the official x402 client, from the payer of \`npm run dev\`.

  URL              default http://localhost:4022/quote
  --rpc URL        the devnet's RPC, default http://127.0.0.1:8545
  --help           this text`

const network: Network = 'eip155:5042'
// A dollar in 6 decimals: more is never asked on the devnet.
const maxAmountPerPayment = '1000000'

type Balances = { payer: bigint; merchant: bigint; relayers: bigint }

process.exitCode = await main()
// Connections kept alive must not keep the terminal.
process.exit()

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2))
    if (!options.help) return await pay(options.url, options.rpcUrl)
    print(help)
    return 0
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error))
    return 1
  }
}

function readOptions(args: string[]) {
  const { values, positionals } = parseArguments({
    args,
    allowPositionals: true,
    options: {
      rpc: { type: 'string', default: 'http://127.0.0.1:8545' },
      help: { type: 'boolean', default: false },
    },
  })
  const url = parseHttpUrl('The URL', positionals[0] ?? 'http://localhost:4022/quote')
  return { url, rpcUrl: parseHttpUrl('--rpc', values.rpc), help: values.help }
}

async function pay(url: string, rpcUrl: string): Promise<number> {
  const before = await readBalances(rpcUrl).catch(() => {
    throw new Error(
      `No devnet answers at ${rpcUrl}: start it with \`npm run dev\` in another terminal.`,
    )
  })
  let asked: PaymentRequired | undefined
  const fetchPaid = payingFetch((offer) => {
    asked = offer
  })
  const response = await fetchPaid(url).catch((error: unknown) => {
    throw new Error(`${url} could not be paid: ${reasonOf(error)}.`)
  })
  const body = await response.text()
  const settlement = settlementOf(response)
  print(`\n${url}\n`)
  print(`  price         ${describePrice(asked?.accepts[0])}`)
  print(`  answer        ${response.status} ${response.statusText}   ${body}`)
  print(`  transaction   ${settlement?.transaction || 'none'}\n`)
  printBalances(before, await readBalances(rpcUrl))
  if (response.ok && settlement?.success) return 0
  printError(`Not paid: ${settlement?.errorReason ?? refusalOf(response) ?? 'nothing was asked'}.`)
  return 1
}

/** The stock client; only the spend controls differ, for it knows no Arc asset of its own. */
function payingFetch(onAsked: (offer: PaymentRequired) => void) {
  const asset = devnetContracts.usdc
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
    spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment }] },
  })
  const httpClient = new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired }) =>
    onAsked(paymentRequired),
  )
  return wrapFetchWithPayment(fetch, httpClient)
}

function settlementOf(response: Response): SettleResponse | undefined {
  const header = response.headers.get('payment-response')
  return header === null ? undefined : decodePaymentResponseHeader(header)
}

function refusalOf(response: Response): string | undefined {
  const header = response.headers.get('payment-required')
  return header === null ? undefined : decodePaymentRequiredHeader(header).error
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  const detail = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
  return `${message}${detail}`
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
  // Arc's gas money is the same dollar, kept in 18 decimals.
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
