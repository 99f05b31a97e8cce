import type { SignedPayment } from './payment.js'

/*
 * The payments that were signed in this tab and whose end was not seen, so that the page knows of them when it is loaded
 * again. The signature is not kept: whoever reads it could have the payment taken without any answer for the visitor.
 */

export interface OpenPayment extends Omit<SignedPayment, 'header'> {
  merchantId: string
  endpointId: number
}

const KEY = 'open-payments'
const MAX_KEPT = 16

function read(): OpenPayment[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isOpenPayment) : []
  } catch {
    return []
  }
}

function isOpenPayment(it: Partial<OpenPayment> | null): it is OpenPayment {
  return (
    typeof it?.merchantId === 'string' &&
    Number.isInteger(it.endpointId) &&
    /^eip155:\d{1,16}$/.test(it.network ?? '') &&
    [it.payer, it.asset].every((address) => /^0x[0-9a-f]{40}$/i.test(address ?? '')) &&
    /^0x[0-9a-f]{64}$/i.test(it.nonce ?? '') &&
    /^\d{1,78}$/.test(it.amount ?? '') &&
    typeof it.isCeiling === 'boolean' &&
    Number.isFinite(it.validBefore)
  )
}

function write(kept: readonly OpenPayment[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept.slice(-MAX_KEPT)))
  } catch {
    // A browser that keeps nothing still has the page itself.
  }
}

export function keepOpen({ header: _, ...payment }: OpenPayment & { header?: string }): void {
  write([...read().filter(({ nonce }) => nonce !== payment.nonce), payment])
}

export function forgetOpen(nonce: string): void {
  const kept = read()
  const left = kept.filter((it) => it.nonce !== nonce)
  if (left.length < kept.length) write(left)
}

/** The payments that were open when this page was loaded, oldest first. */
export const leftOpen: readonly OpenPayment[] = read()
