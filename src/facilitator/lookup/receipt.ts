import type { PaymentStatus, ReceiptAnswer } from '@arcus/protocol/answers/payments'
import { stripUnwelcome } from '@arcus/protocol/listing/text'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import type { Attestation } from '@arcus/protocol/x402/attestation'
import type { Hex } from 'viem'
import { escapeHtml, staticPageHeaders } from '../../http/html.js'

/** A payment with what its state does not show. */
export interface PaymentRecord {
  status: PaymentStatus
  /** `undefined` if none was signed at its confirmation. */
  attestation: Attestation | undefined
  /** As the payload stated it, without its query; `undefined` where it named none. */
  resourceUrl: string | undefined
  /** The tool that the payload named, likewise. */
  toolName: string | undefined
  symbol: string
  /** The scheme by which it was paid. */
  scheme: 'exact' | 'upto'
}

/** Makes the receipt of a confirmed payment. `merchant` has the listing that speaks for the recipient. */
export function toReceipt(
  { status, attestation, resourceUrl, symbol }: PaymentRecord,
  merchant: { id: string; name: string } | undefined,
): ReceiptAnswer {
  const { network, asset, payer, payTo, nonce, amount, transaction } = status
  const shown = (text: string | undefined) => (text === undefined ? null : stripUnwelcome(text))
  return {
    merchant: shown(merchant?.name),
    merchantId: merchant?.id ?? null,
    resource: shown(resourceUrl),
    amount,
    price: formatAtomic(BigInt(amount)),
    symbol,
    network,
    asset,
    payer,
    payTo,
    nonce,
    transaction: transaction as Hex,
    explorerUrl: status.explorerUrl,
    blockNumber: status.blockNumber,
    acceptedAt: status.createdAt,
    confirmedAt: status.updatedAt,
    refund: status.refund,
    attestation: attestation ?? null,
  }
}

const style = `
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1.5rem}
h1{margin:0 0 .2rem;font-size:1.4rem}
.sum{font-size:2rem;font-weight:600;margin:.5rem 0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.4rem 1.2rem;margin:0}
dt{opacity:.75}
dd{margin:0;overflow-wrap:anywhere}
code,pre{font:13px/1.45 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border-top:1px solid #8884;padding-top:.7rem}
@media (max-width:34rem){dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}}
@media print{body{max-width:none;padding:0;color:#000;background:#fff}a{color:#000}}
`

export const receiptHeaders = staticPageHeaders(style)

/** Renders a receipt as a page to print or keep. It has no script; what strangers wrote is text, never a link. */
export function renderReceipt(receipt: ReceiptAnswer): string {
  const { merchant, resource, price, symbol, transaction, explorerUrl, attestation } = receipt
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`
  const named = merchant === null ? '' : `${escapeHtml(merchant)}<br>`
  const found =
    explorerUrl === null
      ? ''
      : `<br><a href="${escapeHtml(explorerUrl)}" rel="noreferrer">See it in the explorer</a>`
  const block = receipt.blockNumber === null ? '' : `, block ${receipt.blockNumber}`
  const rows: [string, string][] = [
    ['Paid to', `${named}${code(receipt.payTo)}`],
    ['Paid by', code(receipt.payer)],
    ['For', resource === null ? 'not known' : `${code(resource)}<br>as the payer stated it`],
    ['Confirmed', `${time(receipt.confirmedAt)}${block}`],
    ['Accepted', time(receipt.acceptedAt)],
    ['Network', code(receipt.network)],
    ['Token', `${escapeHtml(symbol)} ${code(receipt.asset)}`],
    ['Amount', `${escapeHtml(receipt.amount)} atomic units`],
    ...refundRows(receipt),
    ['Transaction', `${code(transaction)}${found}`],
    ['Nonce', code(receipt.nonce)],
  ]
  const list = rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('')
  const proof =
    attestation === null
      ? '<p>No attestation was signed for this payment.</p>'
      : `<h2>Attestation</h2><p>Signed by ${code(attestation.payload.facilitator)}.</p><pre>${escapeHtml(JSON.stringify(attestation, null, 2))}</pre>`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>Receipt: ${escapeHtml(`${price} ${symbol}`)}</title><style>${style}</style></head>
<body><main><h1>Receipt</h1><p class="sum">${escapeHtml(`${price} ${symbol}`)}</p>
<dl>${list}</dl>${proof}</main></body></html>
`
}

function refundRows({ amount, refund, symbol }: ReceiptAnswer): [string, string][] {
  if (refund === null) return []
  const shown = (atomic: bigint) => escapeHtml(`${formatAtomic(atomic)} ${symbol}`)
  const returned = BigInt(refund.amount)
  return [
    [
      'Returned',
      `${shown(returned)}, ${time(refund.confirmedAt)}<br><code>${escapeHtml(refund.transaction)}</code>`,
    ],
    ['Kept by the seller', shown(BigInt(amount) - returned)],
  ]
}

function time(iso: string): string {
  return `<time datetime="${escapeHtml(iso)}">${escapeHtml(iso.slice(0, 19).replace('T', ' '))} UTC</time>`
}
