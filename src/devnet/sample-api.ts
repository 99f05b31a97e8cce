import type { Server } from 'node:http'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { Network } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import type { Address } from 'viem'

type SampleApiOptions = {
  port: number
  /** Default loopback. */
  host?: string
  facilitatorUrl: string
  payTo: Address
  /** A quote costs a cent of the first, or of the second for those who ask for it. */
  assets: { usdc: Address; eurc: Address }
  /** CAIP-2, as `eip155:5042`. */
  network: Network
}

type SampleApi = { url: string; stop(): Promise<void> }

// One cent of a dollar or a euro, in 6 decimals.
export const quotePrice = '10000'

/**
 * Serves `GET /quote`, paid with the official Express middleware through the facilitator, a free `GET /`, and `GET /broken`,
 * which takes the payment and fails.
 */
export async function startSampleApi(options: SampleApiOptions): Promise<SampleApi> {
  const { port, host = '127.0.0.1', facilitatorUrl, payTo, assets, network } = options
  const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl })
  const resources = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())
  // A price in dollars would ask for an asset the official packages do not know on Arc.
  const dollars = { amount: quotePrice, asset: assets.usdc, extra: { name: 'USDC', version: '2' } }
  const euros = { amount: quotePrice, asset: assets.eurc, extra: { name: 'EURC', version: '2' } }
  const accepts = [dollars, euros].map((price) => {
    return { scheme: 'exact', network, payTo, price, maxTimeoutSeconds: 60 }
  })
  const routes = {
    'GET /quote': { accepts, description: 'A line worth a cent', mimeType: 'application/json' },
    'GET /broken': { accepts, description: 'A line that never comes' },
  }
  const app = express()
  app.disable('x-powered-by')
  app.get('/', (_request, response) => {
    response.json({ paid: ['GET /quote', 'GET /broken'], free: ['GET /'] })
  })
  app.use(paymentMiddleware(routes, resources))
  app.get('/quote', (_request, response) => {
    response.json({ quote: quoteOfToday() })
  })
  app.get('/broken', async (request, response) => {
    const payment = decodePaymentSignatureHeader(String(request.headers['payment-signature']))
    // The middleware settles for no answer of 400 and above.
    await resources.settlePayment(payment, payment.accepted)
    response.status(500).json({ error: 'There is no line today.' })
  })
  const server = await listen(app, port, host)
  return { url: `http://localhost:${port}`, stop: () => close(server) }
}

const quotes = [
  'A penny saved is a penny earned.',
  'Take care of the pence, and the pounds will take care of themselves.',
]

function quoteOfToday(): string | undefined {
  const day = Math.floor(Date.now() / 86_400_000)
  return quotes[day % quotes.length]
}

function listen(app: express.Express, port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = app.listen(port, host, (error) => (error ? reject(error) : resolve(server)))
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
