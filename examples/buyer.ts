/**
 * Calls a paid URL with the official client, pays its price, and prints the answer and the transaction.
 *
 * With `npm run dev` in another terminal, whose sample API costs a cent:
 *
 *   npx tsx examples/buyer.ts
 *   npx tsx examples/buyer.ts http://localhost:4023/story
 *
 * PAYER_KEY is the key of the payer, which signs and needs no gas. The default is the payer of the devnet.
 */
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const url = process.argv[2] ?? 'http://localhost:4022/quote'
const network = 'eip155:5042'
// A public test key of anvil. Never send it money.
const devnetKey = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
const account = privateKeyToAccount((process.env.PAYER_KEY as Hex | undefined) ?? devnetKey)

const client = x402Client.fromConfig({
  schemes: [{ network, client: new ExactEvmScheme(account) }],
  // Before 2.28.0 the client does not know Arc's token, and pays no unknown one; 2.28.0 caps a payment at one dollar by
  // itself. The limit here is ten cents a call, in atomic units.
  spendControls: {
    allowedAssets: [
      {
        network,
        asset: '0x3600000000000000000000000000000000000000',
        maxAmountPerPayment: '100000',
      },
    ],
  },
})
const fetchPaid = wrapFetchWithPayment(fetch, client)

// The server does not answer, or the client refuses an asset or a price that is not allowed.
const response = await fetchPaid(url).catch((error: Error) => {
  const { cause } = error as { cause?: Error }
  process.stderr.write(`Not called: ${error.message}${cause ? ` (${cause.message})` : ''}\n`)
  process.exit(1)
})
process.stdout.write(`${response.status} ${await response.text()}\n`)

// One header holds the settlement or its failure, another the reason why a payment was refused.
const settlement = response.headers.get('PAYMENT-RESPONSE')
const refusal = response.headers.get('PAYMENT-REQUIRED')
if (settlement !== null) {
  const { success, transaction, errorReason } = decodePaymentResponseHeader(settlement)
  process.stdout.write(success ? `Paid in ${transaction}\n` : `Not settled: ${errorReason}\n`)
} else if (refusal !== null) {
  process.stdout.write(`Refused: ${decodePaymentRequiredHeader(refusal).error}\n`)
}
process.exitCode = response.ok ? 0 : 1
