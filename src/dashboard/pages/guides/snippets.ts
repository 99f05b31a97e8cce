import type { ConsoleNetwork } from '../../../api/service.js'

/*
 * Complete programs for the guides, filled with the facts of this deployment. A browser test runs them as they are shown.
 */

/** The price of the shop, in atomic units: one cent of a token with 6 decimals. */
const ONE_CENT = '10000'

/** Returns a shop with one paid route, for Express and the official packages. */
export function shopSnippet(facilitator: string, { network, asset }: ConsoleNetwork): string {
  return `// npm install express @x402/express @x402/core @x402/evm @x402/extensions
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { bazaarResourceServerExtension, declareDiscoveryExtension } from '@x402/extensions/bazaar'
import express from 'express'

const facilitator = new HTTPFacilitatorClient({ url: '${facilitator}' })
const resources = new x402ResourceServer(facilitator)
  .register('${network}', new ExactEvmScheme())
  .registerExtension(bazaarResourceServerExtension)

const accepts = {
  scheme: 'exact',
  network: '${network}',
  payTo: process.env.PAY_TO, // your address: the money goes straight there
  price: {
    amount: '${ONE_CENT}', // atomic units: one cent
    asset: '${asset.address}',
    extra: { name: '${asset.name}', version: '${asset.version}' },
  },
}
const quote = {
  accepts,
  description: 'A quote',
  mimeType: 'application/json',
  // With this, the directory lists the API after its first payment.
  extensions: declareDiscoveryExtension({ output: { example: { quote: 'text' } } }),
}

const app = express()
app.use(paymentMiddleware({ 'GET /quote': quote }, resources))
app.get('/quote', (request, response) => response.json({ quote: 'Measure twice, cut once.' }))
app.listen(process.env.PORT ?? 3000)
`
}

/** Returns a buyer that pays one cent a call at most, with fetch and the official packages. */
export function buyerSnippet({ network, asset }: ConsoleNetwork): string {
  return `// npm install @x402/fetch @x402/evm viem
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const network = '${network}'
const asset = '${asset.address}'
const client = x402Client.fromConfig({
  schemes: [{ network, client: new ExactEvmScheme(privateKeyToAccount(process.env.PAYER_KEY)) }],
  // The cap: a 402 that asks for more than one cent is refused before anything is signed.
  // By itself the client pays up to one dollar in USDC from 2.28.0 on, and nothing on Arc before.
  spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment: '${ONE_CENT}' }] },
})
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay(process.argv[2] ?? 'http://localhost:3000/quote')
console.log(response.status, await response.text())
const settled = response.headers.get('PAYMENT-RESPONSE')
if (settled) console.log('paid in', decodePaymentResponseHeader(settled).transaction)
`
}

/** Returns the entry of an agent's configuration file that adds the MCP server of this deployment. */
export function mcpConfigSnippet(facilitator: string): string {
  const server = { type: 'http', url: `${facilitator}/mcp` }
  return JSON.stringify({ mcpServers: { arcus: server } }, null, 2)
}

/** Returns the commands that run a facilitator of one's own. */
export function operatorSnippet(isTestnet: boolean): string {
  const [prefix, rpc] = isTestnet
    ? ['TESTNET', 'https://rpc.testnet.arc.io']
    : ['MAINNET', 'https://rpc.mainnet.arc.io']
  return `npm ci && npm run build
export ${prefix}_RPC_URLS=${rpc}
export RELAYER_PRIVATE_KEYS_FILE=./relayer.keys
npm run doctor && npm start`
}
