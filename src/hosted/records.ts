import type { Refund, RefundLedger } from '@arcus/merchant/refunds'
import type { Channel, ChannelStorage } from '@x402/evm/batch-settlement/server'
import { get, run, type Sql } from '../sql/sql.js'

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

/** `channel`: a payment channel with its last voucher. `refund`: money that goes back; `refunded`: money that went back. */
type HostedKind = 'channel' | 'refund' | 'refunded'

const find = 'SELECT body FROM hosted_records WHERE kind = $1 AND id = $2'

/** Keeps JSON texts of hosted endpoints by kind and id. Only their writers understand them. */
export function createHostedRecords(sql: Sql) {
  return {
    find: async (kind: HostedKind, id: string) =>
      (await sql.get<{ body: string }>(find, [kind, id]))?.body,
    /** All of a kind, in order of id. */
    async list(kind: HostedKind): Promise<string[]> {
      const text = 'SELECT body FROM hosted_records WHERE kind = $1 ORDER BY id'
      return (await sql.all<{ body: string }>(text, [kind])).map(({ body }) => body)
    },
    /**
     * Reads and writes one record while nobody else can; resolves with the new text once it is on disk. `update` may be
     * called more than once. It returns the text as it was to change nothing, and `undefined` to remove it.
     */
    change: (
      kind: HostedKind,
      id: string,
      update: (current: string | undefined) => string | undefined,
    ): Promise<string | undefined> =>
      sql.transaction(
        function* () {
          const current = (yield* get<{ body: string }>(find, [kind, id]))?.body
          const next = update(current)
          if (next === undefined) {
            yield* run('DELETE FROM hosted_records WHERE kind = $1 AND id = $2', [kind, id])
          } else if (next !== current) {
            yield* run(
              `INSERT INTO hosted_records (kind, id, body) VALUES ($1, $2, $3)
               ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`,
              [kind, id, next],
            )
          }
          return next
        },
        // A lock by name, because a record that does not exist yet has no row to lock.
        { lock: `${kind}/${id}` },
      ),
  }
}

export type HostedRecords = ReturnType<typeof createHostedRecords>
