import type { Refund, RefundLedger } from '../merchant/refund-ledger.js'
import type { HostedRecords } from '../store/sql/hosted-records.js'

/**
 * The ledger of refunds in our store: what is under way, and for the account what is over. Each process brings what it
 * planned itself, and whose turn it is also what others left behind; a refund tried twice lands once.
 */
export function openRefundRecords(records: HostedRecords, isTurn: () => boolean): RefundLedger {
  const own = new Map<string, Refund>()
  let others = new Map<string, Refund>()
  return {
    async write(refund) {
      const { id, state } = refund
      const isOver = state === 'landed' || state === 'dropped'
      const text = JSON.stringify(refund)
      if (!isOver) {
        await records.change('refund', id, () => text)
        const holder = others.has(id) ? others : own
        holder.set(id, refund)
        return
      }
      // In this order: a crash between the two leaves a refund that is found to have landed.
      await records.change('refunded', id, () => text)
      await records.change('refund', id, () => undefined)
      own.delete(id)
      others.delete(id)
    },
    pending: () => [...own.values(), ...others.values()],
    async refresh() {
      const texts = isTurn() ? await records.list('refund') : []
      const all = texts.map((text) => JSON.parse(text) as Refund)
      others = new Map(all.filter(({ id }) => !own.has(id)).map((refund) => [refund.id, refund]))
    },
    close: async () => {},
  }
}
