import type { Sort } from '@arcus/protocol/answers/fields'
import { MAX_FIRST } from '@arcus/protocol/answers/merchants'
import { LRUCache } from 'lru-cache'
import { byPrice, inOrderOf, type Priced, TOP_LEVEL, usageRankKeys } from '../store/usage-rank.js'
import {
  type EndpointList,
  type ListedEndpoint,
  type ListedMerchant,
  lowerBound,
} from './endpoint-list.js'
import { type EndpointFilter, type EndpointTest, testOf } from './filters.js'
import { contentWords, urlPieces, wordsOf } from './words.js'

export interface ListQuery {
  filter: EndpointFilter
  /** As typed; nothing or blanks ask for everything. */
  q: string
  /** Whether the words may also stand in tags and URLs, as in the ranked search. */
  isWide?: boolean
  /** Without it, the order is that of creation. Listings of strangers to the payee come last in any order. */
  sort?: Sort | undefined
  offset: number
  limit: number
}

export interface RankedQuery {
  filter: EndpointFilter
  /** As typed, with at least one word. */
  query: string
  limit: number
  /** The end of the page before. */
  after: RankedPlace | undefined
}

export interface MerchantsQuery {
  sort?: Sort | undefined
  limit: number
}

/** A place in a ranked answer. It stays where it is when the catalog changes. */
export interface RankedPlace {
  /** Rises for listings of strangers to the payee, with the share of the words that are missing, then with the tier, then where the endpoint is not live, then where fewer payers paid, then where no paid check delivered. */
  group: number
  endpointId: number
}

/** Writes a place in a ranked answer as a `cursor`. */
export function formatCursor({ group, endpointId }: RankedPlace): string {
  return `${group}-${endpointId}`
}

export function readCursor(cursor: string): RankedPlace {
  const [group, endpointId] = cursor.split('-')
  return { group: Number(group), endpointId: Number(endpointId) }
}

interface RankedPage {
  /** Endpoint ids, best first. */
  ids: number[]
  /** No endpoint has every word: these have the most, or the rarest, of a sentence. */
  isLoose: boolean
  /** The place to continue from if there are more. */
  next: RankedPlace | null
}

/** Searches a list as it is at the moment of the call. */
export interface Search {
  /** Returns the endpoint ids of a page, and how many all pages have together. */
  list(query: ListQuery): { ids: number[]; total: number }
  rank(query: RankedQuery): RankedPage
  /** Returns the ids of the first merchants in the order of `sort`, or else of their ids. */
  merchants(query: MerchantsQuery): string[]
}

/** Results of searches are kept up to this many bytes. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const BYTES_AN_ID = 8
/** Bytes that a kept result takes in addition to its ids, for its key and its entry in the cache. */
const BYTES_AN_ENTRY = 1_024

/**
 * The fields of an endpoint, best first. Each word of a query is found in one of them; the worst of these is the tier
 * of the endpoint.
 */
const TIERS = { title: 0, tags: 1, provider: 2, description: 3, url: 4, nowhere: 5 } as const
const LEVELS = TOP_LEVEL + 1
const GROUPS = TIERS.nowhere * 2 * LEVELS * 2
/** Listings of strangers to the payee come after all others. */
const ALL_GROUPS = 2 * GROUPS
/** The number of steps between all words of a sentence and none, by their weight. */
const STEPS = 16
/** Lengths of title and description together, in characters: the first steps of brevity. Longer texts are one more. */
const LENGTHS = [80, 160, 640]
/** Endpoints with less than this share of the best weight are left out. */
const LEAST_SHARE = 0.5

export function createSearch(list: EndpointList): Search {
  const kept = new LRUCache<string, number[][]>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (groups) =>
      groups.reduce((sum, ids) => sum + ids.length * BYTES_AN_ID, BYTES_AN_ENTRY),
  })
  const firstMerchants = new Map<Sort | undefined, string[]>()
  let keptAt = ''

  function forgetChanged(): void {
    const at = `${list.sequence} ${list.usageVersion}`
    if (keptAt === at) return
    keptAt = at
    kept.clear()
    firstMerchants.clear()
  }

  /** Returns the endpoint ids of each group, from the searches since the last change or from a scan. */
  function keep(key: string, scan: () => number[][]): number[][] {
    forgetChanged()
    const known = kept.get(key)
    if (known !== undefined) return known
    const found = scan()
    kept.set(key, found)
    return found
  }

  function merchantsOf({ merchant }: EndpointFilter): Iterable<ListedMerchant> {
    if (merchant === undefined) return list.merchants()
    const named = list.findMerchant(merchant)
    return named === undefined ? [] : [named]
  }

  /** Visits the endpoints that have every word, merchant by merchant. */
  function eachMatch(
    words: readonly string[],
    { filter, isMet, isWide }: { filter: EndpointFilter; isMet: EndpointTest; isWide: boolean },
    visit: (endpoint: ListedEndpoint, tier: number) => void,
  ): void {
    const finders = words.map((word) => createFinder(word, isWide))
    for (const merchant of merchantsOf(filter)) {
      if (!finders.every(({ begin }) => begin(merchant))) continue
      for (const endpoint of merchant.endpoints) {
        let tier: number = TIERS.title
        for (const { tierOf } of finders) {
          tier = Math.max(tier, tierOf(endpoint))
          if (tier === TIERS.nowhere) break
        }
        if (tier !== TIERS.nowhere && isMet(endpoint)) visit(endpoint, tier)
      }
    }
  }

  function ranked(filter: EndpointFilter, query: string): number[][] {
    const words = wordsOf(query)
    return keep(JSON.stringify(['rank', filter, words]), () => {
      const groups: number[][] = Array.from({ length: ALL_GROUPS }, () => [])
      const options = { filter, isMet: testOf(filter), isWide: true }
      eachMatch(words, options, (endpoint, tier) => {
        groups[groupOf(endpoint, tier)]?.push(endpoint.id)
      })
      return groups.map(inOrder)
    })
  }

  /**
   * Ranks the endpoints that have some words of a sentence: first by the weight of their words, where rare ones count more,
   * and then like others. Of those that are still alike, short texts come first: one that says everything is about nothing.
   * Their groups come after those of endpoints that have every word. Words that nothing has count for nothing.
   */
  function loose(filter: EndpointFilter, sentence: string): number[][] {
    const words = contentWords(sentence)
    return keep(JSON.stringify(['loose', filter, words]), () => {
      const finders = words.map((word) => createFinder(word, true, short.test(word)))
      const isMet = testOf(filter)
      const holders = words.map(() => 0)
      const found: { id: number; group: number; has: number; length: number }[] = []
      for (const merchant of merchantsOf(filter)) {
        const here = finders.map(({ begin }) => begin(merchant))
        if (!here.includes(true)) continue
        for (const endpoint of merchant.endpoints) {
          let has = 0
          let tier: number = TIERS.title
          for (const [i, { tierOf }] of finders.entries()) {
            const at = here[i] ? tierOf(endpoint) : TIERS.nowhere
            if (at === TIERS.nowhere) continue
            has |= 1 << i
            tier = Math.max(tier, at)
          }
          if (has === 0 || !isMet(endpoint)) continue
          for (const i of holders.keys()) if (has & (1 << i)) holders[i] = (holders[i] ?? 0) + 1
          found.push({
            id: endpoint.id,
            group: groupOf(endpoint, tier),
            has,
            length: lengthOf(endpoint),
          })
        }
      }
      const weights = holders.map((count) =>
        count === 0 ? 0 : Math.log(1 + found.length / (count + 1)),
      )
      const weightOf = (has: number) =>
        weights.reduce((sum, weight, i) => (has & (1 << i) ? sum + weight : sum), 0)
      const most = weights.reduce((sum, weight) => sum + weight, 0)
      const bestOf = (some: typeof found) =>
        some.reduce((max, { has }) => Math.max(max, weightOf(has)), 0)
      // A stranger to the payee who writes every word leaves nobody out.
      const best = bestOf(found.filter(({ group }) => group < GROUPS)) || bestOf(found)
      const groups: number[][] = []
      for (const { id, group, has, length } of found) {
        const weight = weightOf(has)
        if (weight < best * LEAST_SHARE) continue
        const part = group < GROUPS ? 1 : 1 + STEPS
        const step = part + Math.round((1 - weight / most) * (STEPS - 1))
        const place = (step * ALL_GROUPS + group) * (LENGTHS.length + 1) + length
        groups[place] ??= []
        groups[place].push(id)
      }
      return groups.map(inOrder)
    })
  }

  return {
    list({ filter, q, isWide = false, sort, offset, limit }) {
      const words = wordsOf(q)
      const [ids = []] = keep(JSON.stringify(['list', filter, words, isWide, sort]), () => {
        const options = { filter, isMet: testOf(filter), isWide }
        if (sort === undefined) {
          const [ids, last]: [number[], number[]] = [[], []]
          eachMatch(words, options, ({ id, merchant }) =>
            (merchant.isCounted ? ids : last).push(id),
          )
          return [last.length === 0 ? inOrder(ids) : inOrder(ids).concat(inOrder(last))]
        }
        const [found, last]: [ListedEndpoint[], ListedEndpoint[]] = [[], []]
        eachMatch(words, options, (endpoint) =>
          (endpoint.merchant.isCounted ? found : last).push(endpoint),
        )
        return [sortedIds(found, sort).concat(sortedIds(last, sort))]
      })
      return { ids: ids.slice(offset, offset + limit), total: ids.length }
    },
    rank({ filter, query, limit, after }) {
      const strict = ranked(filter, query)
      const isStrict = after ? after.group < ALL_GROUPS : strict.some(({ length }) => length > 0)
      if (isStrict) return { ...pageOf(strict, limit, after), isLoose: false }
      const page = pageOf(loose(filter, query), limit, after)
      return { ...page, isLoose: page.ids.length > 0 }
    },
    merchants({ sort, limit }) {
      forgetChanged()
      const known = firstMerchants.get(sort) ?? merchantsIn(list, sort).slice(0, MAX_FIRST)
      firstMerchants.set(sort, known)
      return known.slice(0, limit)
    },
  }
}

/** Returns the place of an endpoint among those that have the same words. */
function groupOf(
  { isLive, isDelivered, usageRank, merchant }: ListedEndpoint,
  tier: number,
): number {
  const level = (tier * 2 + (isLive ? 0 : 1)) * LEVELS + TOP_LEVEL - usageRank.level
  const group = level * 2 + (isDelivered ? 0 : 1)
  return merchant.isCounted ? group : GROUPS + group
}

/** Returns the step of brevity of an endpoint. */
function lengthOf({ titleStart, descriptionEnd }: ListedEndpoint): number {
  const step = LENGTHS.findIndex((length) => descriptionEnd - titleStart <= length)
  return step === -1 ? LENGTHS.length : step
}

/** Returns the ids of all merchants that have an endpoint to show, in order. */
function merchantsIn(list: EndpointList, sort: Sort | undefined): string[] {
  const [counted, last]: [WeighedMerchant[], WeighedMerchant[]] = [[], []]
  for (const merchant of list.merchants()) {
    const { isUnclaimed, endpoints } = merchant
    const shown = isUnclaimed ? endpoints.filter(({ isLive }) => isLive) : endpoints
    const [cheapest] = byPrice(shown)
    if (cheapest === undefined) continue
    const { price, asset, currency } = cheapest
    const weighed = { ...merchant, price, asset, currency }
    if (merchant.isCounted) counted.push(weighed)
    else last.push(weighed)
  }
  return [counted, last].flatMap((part) => {
    const byId = part.sort((a, b) => (a.id < b.id ? -1 : 1))
    if (sort === undefined) return byId.map(({ id }) => id)
    const sorted = sort === 'price' ? byPrice(byId) : inOrderOf(byId, usageRankKeys[sort])
    return sorted.map(({ id }) => id)
  })
}

type WeighedMerchant = ListedMerchant & Priced

/** Returns the ids in order; endpoints that are equal in it stay in order of creation. */
function sortedIds(endpoints: ListedEndpoint[], sort: Sort): number[] {
  const byAge = endpoints.sort((a, b) => a.id - b.id)
  const inOrder =
    sort === 'price'
      ? byPrice(byAge)
      : inOrderOf(byAge, ({ id, usageRank }) => usageRankKeys[sort]({ usageRank, since: id }))
  return inOrder.map(({ id }) => id)
}

/** Puts ids in order, which they mostly are already. */
function inOrder(ids: number[]): number[] {
  const isSorted = ids.every((id, i) => i === 0 || id > (ids[i - 1] as number))
  return isSorted ? ids : Array.from(Float64Array.from(ids).sort())
}

/** Finds a word in the endpoints of one merchant after another. */
interface Finder {
  /** Goes on to a merchant; returns false if none of its endpoints has the word. */
  begin(merchant: ListedMerchant): boolean
  /** Returns the best tier in which an endpoint of the merchant has the word. They are asked for in order of id. */
  tierOf(endpoint: ListedEndpoint): number
}

/** With `isApart`, the word is found only where a word begins. */
function createFinder(word: string, isWide: boolean, isApart = false): Finder {
  const pieces = urlPieces(word)
  // A word that is a single piece of a URL is found in the text as it stands.
  const isOnePiece = pieces.length === 1 && pieces[0] === word
  const text = createCursor(word, isApart)
  const labels = createCursor(word, isApart)
  let labelled = ''
  let tierOfMerchant: number = TIERS.nowhere

  function tierOf(endpoint: ListedEndpoint): number {
    const at = text.from(endpoint.titleStart)
    if (at < endpoint.descriptionStart) return TIERS.title
    if (labels.from(endpoint.tagsStart) < endpoint.urlStart) return TIERS.tags
    const tier = at < endpoint.descriptionEnd ? TIERS.description : TIERS.nowhere
    if (Math.min(tier, tierOfMerchant) !== TIERS.nowhere) return Math.min(tier, tierOfMerchant)
    if (isOnePiece) return labels.from(endpoint.urlStart) < endpoint.urlEnd ? TIERS.url : tier
    const url = labelled.slice(endpoint.urlStart, endpoint.urlEnd)
    return pieces.every((piece) => url.includes(piece)) ? TIERS.url : tier
  }

  function tierInText({ titleStart, descriptionEnd }: ListedEndpoint): number {
    if (tierOfMerchant !== TIERS.nowhere) return tierOfMerchant
    return text.from(titleStart) < descriptionEnd ? TIERS.description : TIERS.nowhere
  }

  return {
    begin(merchant) {
      const { aboutStart, aboutEnd } = merchant
      const at = text.open(merchant.text)
      tierOfMerchant = at < aboutEnd ? TIERS.description : TIERS.nowhere
      if (at < aboutStart) tierOfMerchant = TIERS.provider
      if (!isWide) return at !== NOWHERE
      labelled = merchant.labels
      return labels.open(labelled) !== NOWHERE || at !== NOWHERE || !isOnePiece
    },
    tierOf: isWide ? tierOf : tierInText,
  }
}

const NOWHERE = Number.MAX_SAFE_INTEGER

/** A short word of a sentence is looked for where a word begins: `cast` is by chance a part of `forecast`. */
const short = /^[a-z0-9]{1,5}$/
/** Up to this length, it has to end there as well: `ai` begins `air`. */
const LONGEST_INITIALS = 2

/**
 * Finds the places of a word in a text, in rising order, so that each text is looked through once. With `isApart`, only
 * those at which a word begins.
 */
function createCursor(word: string, isApart: boolean) {
  const isInitials = word.length <= LONGEST_INITIALS
  let text = ''
  let next = 0

  function isPart(at: number): boolean {
    return isInWord(text, at - 1) || (isInitials && isInWord(text, at + word.length))
  }

  /** Returns the offset of the first place from `start` on. */
  function from(start: number): number {
    if (next >= start) return next
    let at = text.indexOf(word, start)
    if (isApart) while (at !== -1 && isPart(at)) at = text.indexOf(word, at + 1)
    next = at === -1 ? NOWHERE : at
    return next
  }

  return {
    from,
    /** Begins with another text, and returns the offset of its first place. */
    open(other: string): number {
      text = other
      next = -1
      return from(0)
    },
  }
}

/** Returns whether a letter or digit of ASCII stands at the offset of a folded text. Other scripts may have no blanks. */
function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
}

function pageOf(
  groups: readonly number[][],
  limit: number,
  after: RankedPlace | undefined,
): Omit<RankedPage, 'isLoose'> {
  const places: RankedPlace[] = []
  for (let group = after?.group ?? 0; group < groups.length && places.length <= limit; group++) {
    const ids = groups[group] ?? []
    const first = group === after?.group ? lowerBound(ids, after.endpointId + 1, (id) => id) : 0
    const found = ids.slice(first, first + limit + 1 - places.length)
    places.push(...found.map((endpointId) => ({ group, endpointId })))
  }
  const shown = places.slice(0, limit)
  return {
    ids: shown.map(({ endpointId }) => endpointId),
    next: places.length > limit ? (shown.at(-1) ?? null) : null,
  }
}
