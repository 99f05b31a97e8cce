import type { Channel, ChannelStorage } from '@x402/evm/batch-settlement/server'
import type { HostedRecords } from '../store/sql/hosted-records.js'

const CHANNEL = 'channel'

/** Keeps the channels of the official scheme in our store: a voucher is on disk before its call is answered. */
export function createChannelStorage(records: HostedRecords): ChannelStorage {
  const parse = (text: string | undefined) =>
    text === undefined ? undefined : (JSON.parse(text) as Channel)
  return {
    get: async (channelId) => parse(await records.find(CHANNEL, keyOf(channelId))),
    list: async () => (await records.list(CHANNEL)).map((text) => JSON.parse(text) as Channel),
    async updateChannel(channelId, update) {
      let status: 'updated' | 'unchanged' | 'deleted' = 'unchanged'
      const text = await records.change(CHANNEL, keyOf(channelId), (current) => {
        const before = parse(current)
        const after = update(before)
        // The scheme gives back the very object to leave it as it is.
        status = after === before ? 'unchanged' : after === undefined ? 'deleted' : 'updated'
        return after === before ? current : after && JSON.stringify(after)
      })
      return { channel: parse(text), status }
    },
  }
}

/**
 * Takes back what a process before this one held for calls it never answered: nobody else would, and the buyer's next
 * call would have to wait for the reservation to lapse.
 */
export async function dropReservations(storage: ChannelStorage): Promise<void> {
  const held = (await storage.list()).filter(({ pendingRequest }) => pendingRequest !== undefined)
  for (const { channelId } of held) {
    await storage.updateChannel(channelId, (channel) => {
      if (channel === undefined) return undefined
      const { pendingRequest: _, ...free } = channel
      return free
    })
  }
}

function keyOf(channelId: string): string {
  return channelId.toLowerCase()
}
