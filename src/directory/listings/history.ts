import { listingLimits } from 'arcus-client/listing'
import { type ListingAction, listingDomain } from 'arcus-client/listing-write'
import { getAddress } from 'viem'
import { z } from 'zod'
import type { HistoryAnswer } from '../../api/listings.js'
import { integerParameter } from '../../http/query.js'
import type { ListingReader, SignedWrite } from '../../store/listings.js'

const { defaultEntries, maxEntries } = listingLimits.history
/** Bytes after which a page ends, with at least one entry: bodies may be large. */
const PAGE_BYTES = 1_048_576

type HistoryEntry = HistoryAnswer['entries'][number]

/** Creates the read of signed writes by pages, oldest first. */
export function createHistoryReader(listings: Pick<ListingReader, 'historyOf'>, chainId: number) {
  return async (
    merchantId: string,
    { after, limit }: { after: number; limit: number },
  ): Promise<HistoryAnswer> => {
    const entries: HistoryEntry[] = []
    let bytes = 0
    let last = after
    let isEnd = false
    while (entries.length < limit && bytes < PAGE_BYTES && !isEnd) {
      const [write] = await listings.historyOf(merchantId, last, 1)
      if (write === undefined) {
        isEnd = true
        continue
      }
      entries.push(toEntry(write))
      bytes += write.body.length
      last = write.revision
    }
    if (!isEnd) isEnd = (await listings.historyOf(merchantId, last, 1)).length === 0
    return { merchantId, domain: listingDomain(chainId), entries, next: isEnd ? null : last }
  }
}

function toEntry(write: SignedWrite): HistoryEntry {
  const { revision, action, owner, message, body, signature, acceptedAt } = write
  return {
    revision,
    action: action as ListingAction,
    owner: getAddress(owner),
    message: JSON.parse(message),
    body: JSON.parse(body),
    signature,
    acceptedAt,
  }
}

/** The parameters of the history. */
export const historyQuery = z.object({
  after: integerParameter({ min: 0, max: Number.MAX_SAFE_INTEGER })
    .prefault('0')
    .describe('`next` of the page before; 0 is the beginning.'),
  limit: integerParameter({ min: 1, max: maxEntries })
    .prefault(String(defaultEntries))
    .describe('Entries of a page; large ones make it shorter.'),
})
