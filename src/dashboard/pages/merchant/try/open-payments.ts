import { useSyncExternalStore } from 'react'
import type { SignedPayment } from './payment.js'

/*
 * The payments that were signed in this browser and whose end was not seen, so that every tab knows of them, and a page that
 * is loaded again. The signature is not kept: whoever reads it could have the payment taken without any answer for the
 * visitor.
 */

export interface OpenPayment extends Omit<SignedPayment, 'header'> {
  merchantId: string
  endpointId: number
}

const KEY = 'arcus:open-payments'
const MAX_KEPT = 16

function read(): OpenPayment[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
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
    localStorage.setItem(KEY, JSON.stringify(kept.slice(-MAX_KEPT)))
  } catch {
    // A browser that keeps nothing still has the page itself.
  }
  readAgain()
}

/** The nonces of the payments that this page made, and shows where they were made. */
const own = new Set<string>()
let others: readonly OpenPayment[] = read()
const listeners = new Set<() => void>()

function readAgain(): void {
  others = read().filter(({ nonce }) => !own.has(nonce))
  for (const listener of listeners) listener()
}
// The browser tells of what other tabs have written.
globalThis.addEventListener?.('storage', ({ key }) => key === KEY && readAgain())

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function keepOpen({ header: _, ...payment }: OpenPayment & { header?: string }): void {
  own.add(payment.nonce)
  write([...read().filter(({ nonce }) => nonce !== payment.nonce), payment])
}

export function forgetOpen(nonce: string): void {
  const kept = read()
  const left = kept.filter((it) => it.nonce !== nonce)
  if (left.length < kept.length) write(left)
}

/**
 * Runs `work` unless another tab runs the same; resolves with whether it ran. A browser ends the hold of a tab that is
 * closed. It offers none to a page without TLS.
 */
export async function aloneAmongTabs(name: string, work: () => Promise<void>): Promise<boolean> {
  const run = () => work().then(() => true)
  const { locks } = navigator as Partial<Navigator>
  if (locks === undefined) return run()
  return locks.request(name, { ifAvailable: true }, (lock) => lock !== null && run())
}

/** Returns the payments that other tabs made, or this one before it was loaded again, oldest first. */
export const openElsewhere = (): readonly OpenPayment[] => others

/** The same for a component, which follows what other tabs do. */
export function useOpenElsewhere(): readonly OpenPayment[] {
  return useSyncExternalStore(subscribe, openElsewhere)
}
