/**
 * An Express server that sells a route with the official middleware, settled by Arcus.
 *
 * With `npm run dev` in another terminal:
 *
 *   npx tsx examples/express-merchant.ts
 *   npx tsx examples/buyer.ts http://localhost:4024/quote
 *
 * FACILITATOR_URL, PAY_TO and PORT set the facilitator, the address that is paid and the port.
 */
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'

const network = 'eip155:5042'
const facilitator = new HTTPFacilitatorClient({
  url: process.env.FACILITATOR_URL ?? 'http://localhost:4021',
})
const resources = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())

const accepts = {
  scheme: 'exact',
  network,
  // The merchant of the devnet. Set an address of your own: the money goes straight there.
  payTo: process.env.PAY_TO ?? '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  // Before 2.28.0 the official packages know no asset on Arc, so a price such as "$0.01" throws. This is a cent in atomic
  // units, with the token and the EIP-712 domain of its contract, and works in every version.
  price: {
    amount: '10000',
    asset: '0x3600000000000000000000000000000000000000',
    extra: { name: 'USDC', version: '2' },
  },
} as const

const app = express()
app.use(
  paymentMiddleware(
    { 'GET /quote': { accepts, description: 'A line worth a cent', mimeType: 'application/json' } },
    resources,
  ),
)
app.get('/quote', (_request, response) => {
  response.json({ quote: 'A penny saved is a penny earned.' })
})

const port = Number(process.env.PORT ?? 4024)
app.listen(port, () => process.stdout.write(`Selling at http://localhost:${port}/quote\n`))
