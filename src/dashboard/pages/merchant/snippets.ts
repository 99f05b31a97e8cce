import type { MerchantEndpoint, Network } from '../../api/types.js'
import { atomicToUsd } from '../../format/amounts.js'

/** Ready lines to try an endpoint with. Everything of the listing goes in quoted, so that nothing of it runs. */

/** The free half of a call: shows the 402 and what it asks for. */
export function curlSnippet(endpoint: Callable): string {
  const url = exampleUrl(endpoint)
  if (endpoint.method === 'GET') return `curl -i ${shellQuote(url)}`
  return [
    `curl -i ${shellQuote(url)} \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d ${shellQuote(JSON.stringify(endpoint.example.body ?? {}))}`,
  ].join('\n')
}

/** A paying client in TypeScript, set up for the network. */
export function fetchSnippet(endpoint: Callable, { network, asset }: Network): string {
  const init =
    endpoint.method === 'GET'
      ? ''
      : `, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(${indent(literal(endpoint.example.body ?? {}), 2)}),
}`
  return `// npm install @x402/fetch @x402/evm viem
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// Needs USDC on ${network}, and no gas. A call is listed at ${endpoint.pricing === 'metered' ? 'at most ' : ''}${atomicToUsd(endpoint.price)} USDC; for more than that nothing is signed.
const account = privateKeyToAccount(process.env.PAYER_KEY)
const client = x402Client.fromConfig({
  schemes: [{ network: ${quote(network)}, client: new ExactEvmScheme(account) }],
  spendControls: {
    allowedAssets: [
      {
        network: ${quote(network)},
        asset: ${quote(asset.address)},
        maxAmountPerPayment: ${quote(endpoint.price)},
      },
    ],
  },
})
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay(${quote(exampleUrl(endpoint))}${init})
const answer = await response.text()`
}

/** The tool among those of the merchant that calls this endpoint; two may share an address, but not with one method. */
export function toolFor(
  answer: { tools: unknown[]; calls: Record<string, { method: string; url: string }> },
  { method, url }: Callable,
): unknown {
  const names = Object.keys(answer.calls)
  const at = names.findIndex((name) => {
    const call = answer.calls[name]
    return call?.method === method && call.url === url
  })
  return answer.tools.find(
    (tool) => (tool as { function?: { name?: string } }).function?.name === names[at],
  )
}

export type Callable = Pick<MerchantEndpoint, 'url' | 'method' | 'example' | 'price' | 'pricing'>

/** The address with the example parameters a GET is called with. */
export function exampleUrl({ url, method, example }: Callable): string {
  if (method !== 'GET' || !URL.canParse(url)) return url
  const whole = new URL(url)
  for (const [name, value] of Object.entries(example.queryParams ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      whole.searchParams.append(name, String(each))
    }
  }
  return whole.href
}

/** In single quotes nothing is special to a shell but the quote itself. */
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
