import type { Server } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { Network, PaymentPayload, PaymentRequirements, SettleResponse } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import type { Address } from 'viem'
import { z } from 'zod'

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
 * Serves `GET /quote` and `GET /weather`, paid with the official Express middleware through the facilitator, a free `GET /`,
 * `GET /broken`, which takes the payment and fails, and the paid tool `tides` of an MCP server at `/mcp`.
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
    'GET /weather': { accepts, description: 'A forecast by city', mimeType: 'application/json' },
    'GET /broken': { accepts, description: 'A line that never comes' },
  }
  const app = express()
  app.disable('x-powered-by')
  app.get('/', (_request, response) => {
    response.json({ paid: [...Object.keys(routes), 'tides at /mcp'], free: ['GET /'] })
  })
  const asked = { ...dollars, scheme: 'exact', network, payTo, maxTimeoutSeconds: 60 }
  const settle = (payment: PaymentPayload) => resources.settlePayment(payment, asked)
  app.post('/mcp', express.json(), async (request, response) => {
    const tools = createTideTools(`http://localhost:${port}/mcp`, asked, settle)
    // Without a session each request has a server of its own.
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.on('close', () => void tools.close())
    await tools.connect(transport as never)
    await transport.handleRequest(request, response, request.body)
  })
  app.all('/mcp', (_request, response) => void response.sendStatus(405))
  app.use(paymentMiddleware(routes, resources))
  app.get('/quote', (_request, response) => {
    response.json({ quote: quoteOfToday() })
  })
  app.get('/weather', ({ query }, response) => {
    const city = String(query.city ?? 'Lisbon').slice(0, 100)
    response.json({ city, sky: skies[guess(city) % skies.length], celsius: 5 + (guess(city) % 25) })
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

const skies = ['clear', 'some clouds', 'rain', 'wind']

/** Makes the same number of a text all day, in place of knowledge. */
function guess(text: string): number {
  const day = Math.floor(Date.now() / 86_400_000)
  return [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), day)
}

/** Makes an MCP server with one tool, which is paid by the MCP transport of x402. */
function createTideTools(
  url: string,
  asked: PaymentRequirements,
  settle: (payment: PaymentPayload) => Promise<SettleResponse>,
): McpServer {
  const server = new McpServer({ name: 'sample', version: '1' })
  const description = 'The next high tide of a port'
  const tool = { description, inputSchema: { port: z.string().max(100) } }
  const saying = (answer: object) => [{ type: 'text' as const, text: JSON.stringify(answer) }]
  server.registerTool('tides', tool, async ({ port }, { _meta }) => {
    const payment = _meta?.['x402/payment'] as PaymentPayload | undefined
    const settled = payment && (await settle(payment))
    if (settled?.success !== true) {
      const error = settled?.errorReason ?? 'Payment required'
      const resource = { url, description }
      const required = { x402Version: 2, error, resource, accepts: [asked] }
      return { isError: true, structuredContent: required, content: saying(required) }
    }
    const highTide = `${String(guess(port) % 12).padStart(2, '0')}:30`
    return { content: saying({ port, highTide }), _meta: { 'x402/payment-response': settled } }
  })
  return server
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
