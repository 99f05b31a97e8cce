import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { ConsoleNetwork } from '@arcus/protocol/answers/service'
import { isBodyMethod, withParameters } from '@arcus/protocol/x402/calls'
import { atomicToUsd } from '../../format/amounts.js'

/*
 * Code to call an endpoint. Every text of the listing is quoted, so that none of it runs.
 */

/** Returns a call without payment, which shows the 402. */
export function curlSnippet(endpoint: Callable): string {
  const url = exampleUrl(endpoint)
  const { method } = endpoint
  if (method === 'GET') return `curl -i ${shellQuote(url)}`
  if (method === 'HEAD') return `curl -I ${shellQuote(url)}`
  const named = method === 'POST' ? '' : ` -X ${method}`
  if (!isBodyMethod(method)) return `curl -i${named} ${shellQuote(url)}`
  return [
    `curl -i${named} ${shellQuote(url)} \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d ${shellQuote(JSON.stringify(endpoint.example.body ?? {}))}`,
  ].join('\n')
}

/** Returns the message that calls a tool of an MCP server without payment. The server answers with what it asks for. */
export function toolCallSnippet({ toolName, example }: Callable): string {
  const params = { name: toolName, arguments: example.arguments ?? {} }
  return literal({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

/** Returns a paying client in TypeScript for the network. */
export function fetchSnippet(endpoint: Callable, network: ConsoleNetwork): string {
  const init =
    endpoint.method === 'GET'
      ? ''
      : !isBodyMethod(endpoint.method)
        ? `, { method: ${quote(endpoint.method)} }`
        : `, {
  method: ${quote(endpoint.method)},
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(${indent(literal(endpoint.example.body ?? {}), 2)}),
}`
  return `${payer(endpoint, network, { packages: '@x402/fetch', names: 'wrapFetchWithPayment, x402Client' })}
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay(${quote(exampleUrl(endpoint))}${init})
const answer = await response.text()`
}

/** Returns a client in TypeScript that asks a tool for its terms and pays for it. */
export function toolPaySnippet(endpoint: Callable, network: ConsoleNetwork): string {
  const call = { name: endpoint.toolName, arguments: endpoint.example.arguments ?? {} }
  const sdk = '@modelcontextprotocol/sdk'
  return `${payer(endpoint, network, {
    packages: `@x402/fetch ${sdk}`,
    names: 'x402Client',
    imports: `import { Client } from '${sdk}/client/index.js'
import { StreamableHTTPClientTransport } from '${sdk}/client/streamableHttp.js'
`,
  })}

const server = new Client({ name: 'agent', version: '1' })
await server.connect(new StreamableHTTPClientTransport(new URL(${quote(endpoint.url)})))
const call = ${literal(call)}
const asked = await server.callTool(call)
const payment = await client.createPaymentPayload(asked.structuredContent)
const paid = await server.callTool({ ...call, _meta: { 'x402/payment': payment } })`
}

interface PayerCode {
  packages: string
  /** Taken from `@x402/fetch`. */
  names: string
  imports?: string
}

/** Returns the code of the official client that pays for an endpoint, up to its listed price. */
function payer(
  endpoint: Callable,
  { network, walletRpcUrls: [node] }: ConsoleNetwork,
  { packages, names, imports = '' }: PayerCode,
): string {
  const { symbol } = endpoint.state
  const isMetered = endpoint.pricing === 'metered'
  // With a node the client sees whether Permit2 is approved, and signs a permit where the seller takes one.
  const options = node === undefined ? '' : `, { rpcUrl: ${quote(node)} }`
  const scheme = (name: string) =>
    `{ network: ${quote(network)}, client: new ${name}(account${options}) }`
  const schemes = [scheme('ExactEvmScheme'), ...(isMetered ? [scheme('UptoEvmScheme')] : [])]
  const upto = isMetered ? "import { UptoEvmScheme } from '@x402/evm/upto/client'\n" : ''
  return `// npm install ${packages} @x402/evm viem
${imports}import { ExactEvmScheme } from '@x402/evm/exact/client'
${upto}import { ${names} } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// Needs ${symbol} on ${network}, and no gas. A call is listed at ${isMetered ? 'at most ' : ''}${atomicToUsd(endpoint.price)} ${symbol}. The client signs nothing above that.
const account = privateKeyToAccount(process.env.PAYER_KEY)
const client = x402Client.fromConfig({
  schemes: [
    ${schemes.join(',\n    ')},
  ],
  // By itself the client pays up to one dollar from 2.28.0 on, in tokens that it knows, and nothing on Arc before.
  spendControls: {
    allowedAssets: [
      {
        network: ${quote(network)},
        asset: ${quote(endpoint.asset)},
        maxAmountPerPayment: ${quote(endpoint.price)},
      },
    ],
  },
})`
}

type Callable = Pick<
  MerchantEndpoint,
  'url' | 'method' | 'toolName' | 'example' | 'price' | 'asset' | 'pricing'
> & { state: Pick<MerchantEndpoint['state'], 'symbol'> }

/** Returns the URL with the example parameters of its query. */
export function exampleUrl({ url, example }: Callable): string {
  return withParameters(url, example.queryParams ?? {})
}

/** Quotes a text for a shell: inside single quotes only the quote itself is special. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function indent(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`)
}
