import type { Address } from 'viem'
import { blockOf } from '../http/rate-limit.js'
import type { ListingReader } from '../store/listings.js'
import { type WriteCodeKey, WriteFault } from './write-codes.js'

/** A write that passed every check. */
export interface RoomWish {
  owner: Address
  /** Of all that is kept of it for ever: message, body, signature. */
  bytes: number
  /** Where it came from. */
  ip: string
  /** Whether it can make a listing, or a larger one. */
  isSave: boolean
}

/** Reserves room for a write, or throws a `WriteFault`; what it gives takes the reservation back, where nothing was kept. */
export type WriteRoom = (wish: RoomWish) => Promise<() => void>

export interface WriteRoomOptions {
  listings: Pick<ListingReader, 'merchantsOwnedBy'>
  /** From one block of addresses within an hour; 0 is no limit. */
  maxNewOwners: number
  /** Whether the disk is nearly full. */
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
}

const HOUR_MS = 3_600_000
/** Bytes of writes within an hour: eight of the largest, a few owners of a block, and of all who came lately. */
const MAX_BYTES = { ofOwner: 4 * 2 ** 20, ofBlock: 16 * 2 ** 20, ofNewOwners: 64 * 2 ** 20 }
/** What rows around a message take. */
const ROW_BYTES = 512
/** An owner whose listing is older than this is new no more. */
const NEW_SECONDS = 86_400
/** Listings of an owner that are looked at for their age. */
const MAX_LOOKED_AT = 20

/** What was taken in since the hour began. */
interface Hour {
  endsAt: number
  /** Owners without a listing, by the block they came from. */
  newOwners: Map<string, Set<Address>>
  /** By owner and by block. */
  bytes: Map<string, number>
  bytesOfNew: number
}

/**
 * Bounds what owners may have kept: a key costs nothing and a write is kept for ever. New ones are counted by the
 * addresses they come from; bytes by owner, by those addresses, and of all who came within a day. What the operator
 * enters passes none of this.
 */
export function createWriteRoom(options: WriteRoomOptions): WriteRoom {
  const { listings, maxNewOwners, isDiskLow, now } = options
  let hour: Hour = startHour(0)

  function currentHour(): Hour {
    if (now() >= hour.endsAt) hour = startHour(now() + HOUR_MS)
    return hour
  }

  function refuse(key: WriteCodeKey, text: string): WriteFault {
    const seconds = Math.max(1, Math.ceil((hour.endsAt - now()) / 1_000))
    const minutes = Math.ceil(seconds / 60)
    const when = `try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
    return new WriteFault(key, `${text}; ${when}.`, undefined, { 'retry-after': String(seconds) })
  }

  return async ({ owner, bytes, ip, isSave }) => {
    if (isSave && isDiskLow()) throw storageFault()
    const owned = await listings.merchantsOwnedBy(owner, MAX_LOOKED_AT)
    const youngest = Math.floor(now() / 1_000) - NEW_SECONDS
    const isNew = !owned.some((it) => it.createdAt <= youngest || it.isOfficial || it.isPartner)
    // From here to the end nobody comes in between.
    const taken = currentHour()
    const block = blockOf(ip)
    const newcomers = taken.newOwners.get(block) ?? new Set()
    const isCounted = isSave && owned.length === 0 && !newcomers.has(owner)
    if (isCounted && maxNewOwners > 0 && newcomers.size >= maxNewOwners) {
      const text = `From addresses near yours ${maxNewOwners} new owners listed within the hour, which is the limit`
      throw refuse('tooManyNewOwners', text)
    }
    const size = bytes + ROW_BYTES
    const parts = [
      { key: `owner ${owner}`, most: MAX_BYTES.ofOwner, who: 'This owner' },
      { key: `block ${block}`, most: MAX_BYTES.ofBlock, who: 'Owners at addresses near yours' },
    ]
    const bytesOf = (key: string) => taken.bytes.get(key) ?? 0
    const full = parts.find(({ key, most }) => bytesOf(key) + size > most)
    if (full !== undefined) {
      throw refuse('tooMuchWritten', `${full.who} wrote ${full.most} bytes within the hour`)
    }
    if (isNew && taken.bytesOfNew + size > MAX_BYTES.ofNewOwners) {
      throw refuse('tooMuchWritten', 'New owners wrote as much within the hour as is kept')
    }
    const add = (count: number) => {
      for (const { key } of parts) taken.bytes.set(key, bytesOf(key) + count)
      if (isNew) taken.bytesOfNew += count
    }
    add(size)
    if (isCounted) taken.newOwners.set(block, newcomers.add(owner))
    return () => {
      add(-size)
      if (isCounted) newcomers.delete(owner)
    }
  }
}

function startHour(endsAt: number): Hour {
  return { endsAt, newOwners: new Map(), bytes: new Map(), bytesOfNew: 0 }
}

function storageFault(): WriteFault {
  const text =
    'The disk of this service is nearly full, so that listings are not saved; try again later.'
  return new WriteFault('storageLow', text, undefined, { 'retry-after': '300' })
}
