import type { Refund, RefundLedger } from '@arcus/merchant/refunds'
import type { Channel, ChannelStorage } from '@x402/evm/batch-settlement/server'
import type { HostedRecords } from './store.js'

const CHANNEL = 'channel'

/** Keeps the channels of the official scheme in the database: a voucher is on disk before its call is answered. */
export function createChannelStorage(records: HostedRecords): ChannelStorage {
  const parse = (text: string | undefined) =>
    text === undefined ? undefined : (JSON.parse(text) as Channel)
  return {
    get: async (channelId) => parse(await records.find(CHANNEL, channelId.toLowerCase())),
    list: async () => (await records.list(CHANNEL)).map((text) => JSON.parse(text) as Channel),
    async updateChannel(channelId, update) {
      let status: 'updated' | 'unchanged' | 'deleted' = 'unchanged'
      const text = await records.change(CHANNEL, channelId.toLowerCase(), (current) => {
        const before = parse(current)
        const after = update(before)
        // The scheme returns the same object to leave the channel as it is.
        status = after === before ? 'unchanged' : after === undefined ? 'deleted' : 'updated'
        return after === before ? current : after && JSON.stringify(after)
      })
      return { channel: parse(text), status }
    },
  }
}

/**
 * Releases the channels that an earlier process reserved for calls it never answered. Otherwise the buyer's next call
 * would have to wait until the reservation expires.
 */
export async function dropReservations(storage: ChannelStorage): Promise<void> {
  const reserved = (await storage.list()).filter(
    ({ pendingRequest }) => pendingRequest !== undefined,
  )
  for (const { channelId } of reserved) {
    await storage.updateChannel(channelId, (channel) => {
      if (channel === undefined) return undefined
      const { pendingRequest: _, ...free } = channel
      return free
    })
  }
}

/**
 * Keeps the refunds of hosted endpoints in the database: pending ones to be sent, and finished ones as a record. Each
 * process sends the refunds it planned itself. The process whose turn it is also sends those that others left behind. A
 * refund that is tried twice lands once.
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
      // In this order, a crash between the two writes leaves a refund that is found to have landed.
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
