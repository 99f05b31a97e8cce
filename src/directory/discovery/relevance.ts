import type { EndpointList, SearchableEndpoint } from './endpoint-list.js'
import type { EndpointTest } from './filters.js'
import { createFinder, type Finder, TIERS } from './finders.js'

/** An endpoint with some words of a sentence. */
interface Scored {
  endpoint: SearchableEndpoint
  /** 0 to 1: the share of what an endpoint with every word in a short title would have. */
  relevance: number
}

/**
 * What a word is worth in a field of usual length. It is worth more in a shorter one and less in a longer one, because a
 * text that says everything is about nothing. This is the rule of BM25, with a worth and a usual length, in characters,
 * for each kind of text.
 */
const fields = {
  title: { worth: 2, chars: 24 },
  tags: { worth: 1.5, chars: 30 },
  provider: { worth: 1.2, chars: 20 },
  prose: { worth: 1, chars: 200 },
  url: { worth: 0.6, chars: 40 },
} as const
/** The usual constants of BM25: how much a length matters, and how soon. */
const LENGTH_SHARE = 0.75
const SATURATION = 1.2

/** A short word is looked for where a word begins: `cast` is by chance a part of `forecast`. */
const short = /^[a-z0-9]{1,5}$/
/** A word that nothing has is taken for a misspelling from this length on. Its hits count for less. */
const LEAST_MISSPELT = 5
const NEAR_WORTH = 0.7
/** The number of words of a sentence that nothing has and that are searched as misspellings: each costs two more passes. */
const MAX_MISSPELT = 3
/**
 * A word of more than this share of a catalog is common, and only a few common words of a sentence are looked for. In a
 * small catalog every word would be common.
 */
const COMMON_SHARE = 0.1
const MAX_COMMON = 3
const LEAST_CATALOG = 1_000
/** Endpoints with less than this share of the best are left out, unless their title has this number of the words. */
const LEAST_SHARE = 0.3
const NAMING_WORDS = 2
/** The matches of a common word are used again until this number of changes has passed. */
const KNOWN_CHANGES = 1_000
const MAX_KNOWN = 10_000

interface Word {
  finder: Finder
  worth: number
  /** Endpoints that have it, among those that decide which words are rare. */
  holders: number
  /** Whether any other endpoint has it. */
  isElsewhere: boolean
}

/** Endpoints that have some of the words, and what each word is worth in each of them, row by row; 0 where it is not. */
interface Scan {
  words: readonly Word[]
  endpoints: SearchableEndpoint[]
  worths: Float32Array
  /** Endpoints of the catalog that decide which words are rare. */
  size: number
  /**
   * Those whose title has `NAMING_WORDS` of the words. Words of a subject that most of a catalog is about are common in it,
   * and would weigh less than any other word of the sentence.
   */
  named: ReadonlySet<SearchableEndpoint>
}

/** Creates the search for endpoints that have some words of a sentence. */
export function createRelevance(list: EndpointList) {
  /** Common words with the change at which they were, and how many had them. */
  const common = new Map<string, { at: number; holders: number }>()

  function knownHolders(word: string): number | undefined {
    const known = common.get(word)
    return known !== undefined && list.sequence - known.at < KNOWN_CHANGES
      ? known.holders
      : undefined
  }

  /** Leaves out all common words but the rarest of them: each costs a look at every endpoint and says little. */
  function withoutCommon(words: readonly string[]): string[] {
    const known = words.flatMap((word) => {
      const holders = knownHolders(word)
      return holders === undefined ? [] : { word, holders }
    })
    const dropped = known.sort((a, b) => a.holders - b.holders).slice(MAX_COMMON)
    const names = new Set(dropped.map(({ word }) => word))
    return words.filter((word) => !names.has(word))
  }

  function noteCommon(words: readonly string[], { words: found, size }: Scan): void {
    for (const [i, word] of words.entries()) {
      const holders = found[i]?.holders ?? 0
      if (size < LEAST_CATALOG || holders <= size * COMMON_SHARE) continue
      if (common.size >= MAX_KNOWN) common.clear()
      common.set(word, { at: list.sequence, holders })
    }
  }

  function scanFor(names: readonly string[], isMet: EndpointTest, isNear = false): Scan {
    const kindOf = (word: string) => (short.test(word) ? 'apart' : 'anywhere')
    const words = names.map((word) => ({
      finder: createFinder(word, true, isNear ? 'near' : kindOf(word)),
      worth: isNear ? NEAR_WORTH : 1,
      holders: 0,
      isElsewhere: false,
    }))
    const found = scan(list, words, isMet)
    noteCommon(names, found)
    return found
  }

  return (sentence: readonly string[], isMet: EndpointTest): Scored[] => {
    const names = withoutCommon(sentence)
    const found = scanFor(names, isMet)
    const misspelt = names
      .filter((word, i) => found.words[i]?.holders === 0 && word.length >= LEAST_MISSPELT)
      .slice(0, MAX_MISSPELT)
    const sums = new Map<SearchableEndpoint, number>()
    const { named } = found
    let most = addTo(sums, found)
    if (misspelt.length > 0) most += addTo(sums, scanFor(misspelt, isMet, true))
    return relevant(sums, most, named)
  }
}

/** Reads the whole catalog, because rare means rare in all of it. */
function scan(list: EndpointList, words: readonly Word[], isMet: EndpointTest): Scan {
  const endpoints: SearchableEndpoint[] = []
  const named = new Set<SearchableEndpoint>()
  const row = new Float32Array(words.length)
  let worths = new Float32Array(words.length * FIRST_ROWS)
  const isWeighed = weighing(list)
  let size = 0
  for (const merchant of list.merchants()) {
    const here = words.filter(({ finder }) => finder.begin(merchant))
    for (const endpoint of merchant.endpoints) {
      const counts = isWeighed(endpoint)
      if (counts) size++
      let isHit = false
      let inTitle = 0
      for (const word of here) {
        const tier = word.finder.tierOf(endpoint)
        if (tier === TIERS.nowhere) continue
        if (counts) word.holders++
        else word.isElsewhere = true
        isHit = true
        if (tier === TIERS.title) inTitle++
        row[words.indexOf(word)] = word.worth * worthAt(endpoint, tier)
      }
      if (!isHit) continue
      if (isMet(endpoint)) {
        const at = endpoints.push(endpoint) * words.length
        if (at > worths.length) worths = grown(worths)
        worths.set(row, at - words.length)
        if (inTitle >= NAMING_WORDS) named.add(endpoint)
      }
      row.fill(0)
    }
  }
  return { words, endpoints, worths, size, named }
}

/** Returns which endpoints decide which words are rare: listed ones whose owner is no stranger to the payee, or all where there are none. */
function weighing(list: EndpointList): EndpointTest {
  const isProven: EndpointTest = ({ merchant, isListed }) => merchant.isCounted && isListed
  return list.endpoints.some(isProven) ? isProven : () => true
}

const FIRST_ROWS = 1_024

function grown(values: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const larger = new Float32Array(values.length * 2)
  larger.set(values)
  return larger
}

/** Adds up what each endpoint has, where rare words weigh more. Returns the most that one could have. */
function addTo(
  sums: Map<SearchableEndpoint, number>,
  { words, endpoints, worths, size }: Scan,
): number {
  const weights = words.map(({ holders, isElsewhere }) =>
    holders === 0 && !isElsewhere
      ? 0
      : Math.log(1 + Math.max(size - holders, 0.5) / (holders + 0.5)),
  )
  for (const [at, endpoint] of endpoints.entries()) {
    let sum = sums.get(endpoint) ?? 0
    for (let i = 0; i < weights.length; i++) {
      sum += (weights[i] as number) * (worths[at * weights.length + i] as number)
    }
    if (sum > 0) sums.set(endpoint, sum)
  }
  return weights.reduce((sum, weight) => sum + weight, 0) * worthOf(fields.title, 0)
}

/** Leaves out endpoints that have few of the words of the best one. Strangers to the payee do not decide which one is best. */
function relevant(
  sums: ReadonlyMap<SearchableEndpoint, number>,
  most: number,
  named: ReadonlySet<SearchableEndpoint>,
): Scored[] {
  let [best, bestOfAll] = [0, 0]
  for (const [{ merchant }, sum] of sums) {
    if (merchant.isCounted && sum > best) best = sum
    if (sum > bestOfAll) bestOfAll = sum
  }
  const least = (best || bestOfAll) * LEAST_SHARE
  const found: Scored[] = []
  for (const [endpoint, sum] of sums) {
    if (sum >= least || named.has(endpoint))
      found.push({ endpoint, relevance: Math.min(1, sum / most) })
  }
  return found
}

/** Returns the worth of a word in the field of an endpoint in which it was found. */
function worthAt(endpoint: SearchableEndpoint, tier: number): number {
  switch (tier) {
    case TIERS.title:
      return worthOf(fields.title, endpoint.descriptionStart - endpoint.titleStart)
    case TIERS.tags:
      return worthOf(fields.tags, endpoint.urlStart - endpoint.tagsStart)
    case TIERS.provider:
      return worthOf(fields.provider, endpoint.merchant.aboutStart)
    case TIERS.description:
      return worthOf(fields.prose, proseOf(endpoint))
    default:
      return worthOf(fields.url, endpoint.urlEnd - endpoint.urlStart)
  }
}

function worthOf({ worth, chars }: { worth: number; chars: number }, length: number): number {
  const relative = 1 - LENGTH_SHARE + (LENGTH_SHARE * length) / chars
  return (worth * (SATURATION + 1)) / (1 + SATURATION * relative)
}

/** Returns how many characters the description of an endpoint and that of its merchant have together. */
export function proseOf({
  descriptionStart,
  descriptionEnd,
  merchant,
}: SearchableEndpoint): number {
  return descriptionEnd - descriptionStart + merchant.aboutEnd - merchant.aboutStart
}
