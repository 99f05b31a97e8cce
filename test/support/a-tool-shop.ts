import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { type CallToolResult, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { declareDiscoveryExtension } from '@x402/extensions/bazaar'
import { z } from 'zod'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { startServer } from './a-server.js'

/** The terms of every paid tool. */
export const toolTerms = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: devnetContracts.usdc,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
} as const

export interface ToolShop {
  /** Of the MCP server. */
  url: string
  /** Calls of tools, with those that came without a payment. */
  calls: { name: string; args: unknown; isPaid: boolean }[]
  /** The methods of HTTP that came. */
  methods: Set<string | undefined>
  stop(): void
}

const tools = {
  forecast: { input: { city: z.string() }, example: { city: 'Lisbon' } },
  tides: { input: { port: z.string() }, example: { port: 'Sines' } },
}

/**
 * An MCP server of the official SDK, with sessions, that sells two tools by the MCP transport of x402 and gives a third away.
 * It answers in JSON or, as the SDK does by itself, in events of a stream.
 */
export async function startToolShop(
  options: { facilitatorUrl?: string; enableJsonResponse?: boolean } = {},
): Promise<ToolShop> {
  const { facilitatorUrl, enableJsonResponse = false } = options
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const shop: ToolShop = { url: '', calls: [], methods: new Set(), stop: () => {} }

  function openShop(): McpServer {
    const server = new McpServer({ name: 'shop', version: '1' })
    for (const [name, { input, example }] of Object.entries(tools)) {
      const description = `A ${name} of a place`
      const [place = ''] = Object.keys(input)
      const inputSchema = { type: 'object', properties: { [place]: { type: 'string' } } }
      const resource = { url: shop.url, description: 'A shop of tools', serviceName: 'Tool shop' }
      const extensions = declareDiscoveryExtension({
        toolName: name,
        description,
        inputSchema,
        example,
      })
      const required = { x402Version: 2, resource, accepts: [toolTerms], extensions }
      server.registerTool(
        name,
        { description, inputSchema: input },
        async (
          args: object,
          extra: { _meta?: Record<string, unknown> | undefined },
        ): Promise<CallToolResult> => {
          const payment = extra._meta?.['x402/payment']
          shop.calls.push({ name, args, isPaid: payment !== undefined })
          if (payment === undefined || facilitatorUrl === undefined) {
            return {
              isError: true,
              structuredContent: required,
              content: [{ type: 'text', text: JSON.stringify(required) }],
            }
          }
          const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl })
          const settled = await facilitator.settle(payment as never, toolTerms)
          return {
            content: [{ type: 'text', text: 'Fair' }],
            _meta: { 'x402/payment-response': { ...settled } },
          }
        },
      )
    }
    server.registerTool('free', { description: 'Costs nothing', inputSchema: {} }, async () => ({
      content: [{ type: 'text', text: 'Here you are' }],
    }))
    return server
  }

  async function transportOf(request: IncomingMessage, message: unknown) {
    const known = sessions.get(String(request.headers['mcp-session-id']))
    if (known !== undefined || !isInitializeRequest(message)) return known
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await openShop().connect(transport as never)
    return transport
  }

  const server = await startServer(async (request, response) => {
    shop.methods.add(request.method)
    let body = ''
    for await (const chunk of request) body += chunk
    const message = body === '' ? undefined : JSON.parse(body)
    const transport = await transportOf(request, message)
    if (transport === undefined) response.writeHead(404).end()
    else await transport.handleRequest(request, response, message)
  })
  shop.url = `${server.url}/mcp`
  shop.stop = server.close
  return shop
}
