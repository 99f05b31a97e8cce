import { pause } from './behaviours.js'
import type { Client } from './client.js'
import type { SignedPayment } from './payments.js'

/** Settles payments one after another over so many milliseconds, without waiting for any. */
export function spread(
  client: Pick<Client, 'settle'>,
  payments: readonly SignedPayment[],
  ms: number,
) {
  return Promise.all(
    payments.map(async (payment, i) => {
      await pause((i * ms) / payments.length)
      return client.settle(payment)
    }),
  )
}
