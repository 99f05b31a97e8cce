import type { Address } from 'viem'
import { blockOf } from '../../http/rate-limit.js'
import { createHourlyCounts, createTokenBuckets } from '../../http/token-buckets.js'
import type { ListingReader } from '../store/listings.js'
import { type RefusalCode, WriteFault } from './refusals.js'

/** Endpoints that saves of one owner may have checked: a full listing six times at once, then five a second. */
const ofOwner = { capacity: 600, refillMs: 200 }
/** The same for one block of addresses: a key costs nothing, and a new one has an allowance of its own. */
const ofBlock = { capacity: 1_200, refillMs: 100 }

/** Bounds the endpoints that are checked in a short time. */
export interface SaveAllowances {
  /** Takes endpoints of an owner and of their addresses. Returns 0, or takes none and returns the seconds to wait. */
  take(by: { owner: Address; ip: string }, endpoints: number): number
}

/** `now` is in Unix milliseconds. */
export function createSaveAllowances(now: () => number): SaveAllowances {
  const owners = createTokenBuckets({ ...ofOwner, now })
  const blocks = createTokenBuckets({ ...ofBlock, now })
  return {
    take({ owner, ip }, endpoints) {
      const waitSeconds = owners.take(owner, endpoints)
      return waitSeconds > 0 ? waitSeconds : blocks.take(blockOf(ip), endpoints)
    },
  }
}

/** A write that passed every check. */
interface CheckedSize {
  owner: Address
  /** Bytes that are kept for ever: message, body and signature. */
  bytes: number
  ip: string
  /** True for a write that can make a listing, or a larger one. */
  isSave: boolean
}

/** Reserves quota for a write, or throws a `WriteFault`. What could not be made gives the quota back. */
export type WriteQuota = <Made>(write: CheckedSize, make: () => Promise<Made>) => Promise<Made>

interface WriteQuotaOptions {
  listings: Pick<ListingReader, 'merchantsOwnedBy'>
  /** New owners from one block of addresses within an hour; 0 is no limit. */
  maxNewOwners: number
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
}

/** Bytes of writes within an hour: eight of the largest by one owner, a few owners of one block, and all new owners. */
const MAX_BYTES = { ofOwner: 4 * 2 ** 20, ofBlock: 16 * 2 ** 20, ofNewOwners: 64 * 2 ** 20 }
/** Bytes that the rows around a message take. */
const ROW_BYTES = 512
/** An owner whose oldest listing is younger than this is new. */
const NEW_SECONDS = 86_400
/** Listings of an owner that are read to find their age. */
const MAX_READ = 20

/**
 * Creates the bounds on what owners may have kept: a key costs nothing, and a write is kept for ever. New owners are
 * counted by the addresses they come from; bytes by owner, by those addresses, and over all owners younger than a day.
 * Entries of the operator are not counted.
 */
export function createWriteQuota(options: WriteQuotaOptions): WriteQuota {
  const { listings, maxNewOwners, isDiskLow, now } = options
  const counts = createHourlyCounts(now)

  function refuse(code: RefusalCode, text: string): WriteFault {
    const seconds = counts.secondsLeft()
    const minutes = Math.ceil(seconds / 60)
    const when = `try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
    return new WriteFault(code, `${text}; ${when}.`, undefined, seconds)
  }

  return async ({ owner, bytes, ip, isSave }, make) => {
    if (isSave && isDiskLow()) throw storageFault()
    const owned = await listings.merchantsOwnedBy(owner, MAX_READ)
    const youngest = Math.floor(now() / 1_000) - NEW_SECONDS
    const isNew = !owned.some((it) => it.createdAt <= youngest || it.isOfficial || it.isPartner)
    // Nothing below awaits, so that no other write comes between the check and the count.
    const block = blockOf(ip)
    const newcomer = `newcomer ${block} ${owner}`
    const newcomers = `newcomers ${block}`
    const isCounted = isSave && owned.length === 0 && counts.of(newcomer) === 0
    if (isCounted && maxNewOwners > 0 && counts.of(newcomers) >= maxNewOwners) {
      const text = `From addresses near yours ${maxNewOwners} new owners listed within the hour, which is the limit`
      throw refuse('too_many_new_owners', text)
    }
    const size = bytes + ROW_BYTES
    const parts = [
      { key: `owner ${owner}`, most: MAX_BYTES.ofOwner, who: 'This owner' },
      { key: `block ${block}`, most: MAX_BYTES.ofBlock, who: 'Owners at addresses near yours' },
    ]
    const full = parts.find(({ key, most }) => counts.of(key) + size > most)
    if (full !== undefined) {
      throw refuse('too_much_written', `${full.who} wrote ${full.most} bytes within the hour`)
    }
    if (isNew && counts.of('new owners') + size > MAX_BYTES.ofNewOwners) {
      throw refuse('too_much_written', 'New owners wrote as much within the hour as is kept')
    }
    const undo = [
      ...parts.map(({ key }) => counts.add(key, size)),
      ...(isNew ? [counts.add('new owners', size)] : []),
      ...(isCounted ? [counts.add(newcomer, 1), counts.add(newcomers, 1)] : []),
    ]
    try {
      return await make()
    } catch (error) {
      for (const takeBack of undo) takeBack()
      throw error
    }
  }
}

function storageFault(): WriteFault {
  const text =
    'The disk of this service is nearly full, so that listings are not saved; try again later.'
  return new WriteFault('storage_low', text, undefined, 300)
}
