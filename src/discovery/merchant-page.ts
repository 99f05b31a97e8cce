import { type CachedBody, toCachedBody } from '../http/cached-reply.js'
import type { ListingReader } from '../store/listings.js'
import type { PublishedEntry, PublishedSize } from '../store/published.js'
import type { Question } from './answers.js'
import { wordsOf } from './fold.js'
import { itemJson } from './item.js'
import { listPage } from './list-page.js'

export type MerchantPageSource = Pick<ListingReader, 'publishedOf'>

/** What has more, or more text, is read and made in turns beside the index: here it would hold up who comes next. */
const MOST: PublishedSize = { endpoints: 20, chars: 65_536 }

/**
 * A page of `merchant=` from the rows of that merchant, without the index: where the rows are at hand they are read
 * sooner than another thread is asked. `undefined` for any other question, and where that is too much at once.
 */
export async function readMerchantPage(
  source: MerchantPageSource,
  question: Question,
): Promise<CachedBody | undefined> {
  if (question.kind !== 'resources' || !isOfMerchantAlone(question.query)) return undefined
  const { filter, offset, limit } = question.query
  const entries = await source.publishedOf(filter.merchant as string, MOST)
  if (entries === undefined) return undefined
  const found = entries.filter(isPublic)
  const shown = found.slice(offset, offset + limit)
  return toCachedBody(listPage(shown.map(itemJson), { limit, offset }, found.length))
}

type ResourcesQuery = (Question & { kind: 'resources' })['query']

function isOfMerchantAlone({ filter, q, isOtherType }: ResourcesQuery): boolean {
  const { merchant, ...rest } = filter
  const asksMore = Object.keys(rest).length > 0 || wordsOf(q).length > 0
  return merchant !== undefined && !asksMore && !isOtherType
}

function isPublic({ merchant }: PublishedEntry): boolean {
  return merchant.hiddenReason === null && merchant.deletedAt === null
}
