import type { Refund, RefundLedger } from '../merchant/refund-ledger.js'
import type { HostedRecords } from '../store/hosted-records.js'

/** The ledger of refunds in our store: what is under way, and for the account what is over. */
export async function openRefundRecords(records: HostedRecords): Promise<RefundLedger> {
  const texts = await records.list('refund')
  const pending = new Map(
    texts.map((text) => JSON.parse(text) as Refund).map((refund) => [refund.id, refund]),
  )
  return {
    async write(refund) {
      const { id, state } = refund
      const isOver = state === 'landed' || state === 'dropped'
      const text = JSON.stringify(refund)
      if (!isOver) {
        await records.change('refund', id, () => text)
        pending.set(id, refund)
        return
      }
      // In this order: a crash between the two leaves a refund that is found to have landed.
      await records.change('refunded', id, () => text)
      await records.change('refund', id, () => undefined)
      pending.delete(id)
    },
    pending: () => [...pending.values()],
    close: async () => {},
  }
}
