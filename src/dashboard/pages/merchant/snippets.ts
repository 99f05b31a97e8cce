import type { MerchantEndpoint } from '../../../api/listings.js'
import type { ConsoleNetwork } from '../../../api/service.js'
import { isBodyMethod, withParameters } from '../../../x402/calls.js'
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
export function fetchSnippet(endpoint: Callable, { network }: ConsoleNetwork): string {
  const { symbol } = endpoint.state
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
  return `// npm install @x402/fetch @x402/evm viem
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// Needs ${symbol} on ${network}, and no gas. A call is listed at ${endpoint.pricing === 'metered' ? 'at most ' : ''}${atomicToUsd(endpoint.price)} ${symbol}. The client signs nothing above that.
const account = privateKeyToAccount(process.env.PAYER_KEY)
const client = x402Client.fromConfig({
  schemes: [{ network: ${quote(network)}, client: new ExactEvmScheme(account) }],
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
})
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay(${quote(exampleUrl(endpoint))}${init})
const answer = await response.text()`
}

export type Callable = Pick<
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
