import type { SharedPorts } from '../ports.js'
import type { Activity } from '../store/activity.js'

/** Finds what was given back of settled payments: atomic units by the number of the row, without those that were kept. */
export async function findRefunded(
  findRefunds: SharedPorts['findRefunds'],
  rows: readonly Pick<
    Activity,
    'id' | 'network' | 'asset' | 'payer' | 'payTo' | 'nonce' | 'amount'
  >[],
): Promise<ReadonlyMap<number, string>> {
  // A call through a channel has no nonce, and a channel gives back in its own way.
  const sales = rows.flatMap(({ nonce, ...row }) => (nonce === null ? [] : [{ ...row, nonce }]))
  if (sales.length === 0) return new Map()
  const found = await findRefunds(sales)
  const refunded = new Map<number, string>()
  for (const [i, { id }] of sales.entries()) {
    const amount = found[i]?.amount
    if (amount !== undefined) refunded.set(id, amount)
  }
  return refunded
}
