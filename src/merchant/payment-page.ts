import type { PaymentRequired } from '@x402/core/types'
import { formatAtomic } from '../x402/amounts.js'
import { isNetwork, networks } from '../x402/networks.js'
import { isStablecoin } from './price.js'

/** Styles stand in the page itself; nothing is loaded and nothing runs. */
export const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

/** Whether the caller is a browser that shows a page; programs that take anything say `*`. */
export function wantsPage(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes('text/html') ?? false
}

/** What a person sees who opens a paid URL in a browser. */
export function paymentPage({ accepts, resource, error }: PaymentRequired): string {
  const [asked] = accepts
  const price = asked === undefined ? '' : describePrice(asked.amount, asked.asset, asked.network)
  const network =
    asked !== undefined && isNetwork(asked.network) ? networks[asked.network].name : ''
  const rows = [
    ['Price', price],
    ['Network', `${network} (${asked?.network ?? ''})`],
    ['Paid to', asked?.payTo ?? ''],
    ['Resource', resource.url],
    ...(error === undefined || error === PAYMENT_REQUIRED ? [] : [['Refused', error]]),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment required</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
dt { color: #666; } dd { margin: 0 0 1rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } dt { color: #aaa; } }
</style>
</head>
<body>
<h1>Payment required</h1>
<p>${escapeHtml(resource.description || 'This resource is paid for with each call.')}</p>
<dl>
${rows.map(([name = '', value = '']) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('\n')}
</dl>
<p>Programs pay it with x402: the terms are in the header PAYMENT-REQUIRED of this answer, and a client such as
@x402/fetch signs and sends the payment.</p>
</body>
</html>
`
}

/** The `error` of a 402 that answers a request without payment. */
export const PAYMENT_REQUIRED = 'Payment required'

function describePrice(amount: string, asset: string, network: string): string {
  if (!isStablecoin(asset, network)) return `${amount} units of the token ${asset}`
  return `$${formatAtomic(BigInt(amount))} in USDC`
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
