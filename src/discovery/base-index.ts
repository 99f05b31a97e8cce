import { type Bits, createBits } from './bits.js'
import { type DocumentSet, lowerBound, packBits } from './document-set.js'
import { type Field, facet, type Quote } from './index-document.js'
import { createLru } from './lru.js'
import type { NumberList } from './number-list.js'
import type { Postings } from './postings.js'
import type { Scratch } from './scratch.js'
import type { Spelling } from './spelling.js'
import type { TermIndex } from './term-index.js'
import type { TokenTable } from './token-table.js'
import type { Turns } from './turns.js'

/** What was built of the documents, by number: 0 and up in order of endpoint id. Nothing of it changes. */
export interface BaseParts {
  /** Whether all that is known of a document is whose it is and how it stands: see `isOutlined`. */
  isOutline: boolean
  /** Endpoint ids, ascending. */
  ids: NumberList
  /** Tell whether what is indexed of a document has changed. */
  signatures: NumberList
  /** In atomic units. */
  prices: NumberList
  /** Documents of merchants neither hidden nor deleted, of official ones, and of those found in payments. */
  isPublic: Bits
  isOfficial: Bits
  isUnclaimed: Bits
  /** Every scheme with every network that is quoted together with it. */
  pairs: readonly Pick<Quote, 'scheme' | 'network'>[]
  /** Numbers of merchants by id, and signatures by their number. */
  merchants: TokenTable
  merchantSignatures: NumberList
  merchantPostings: Postings
  facets: TokenTable
  facetPostings: Postings
  terms: TermIndex
  scratch: Scratch
}

export interface BaseIndex
  extends Pick<
    BaseParts,
    'isOutline' | 'ids' | 'signatures' | 'prices' | 'isPublic' | 'isOfficial' | 'pairs' | 'scratch'
  > {
  readonly size: number
  /** Number of the endpoint; -1 when it is not here. */
  find(endpointId: number): number
  /** `undefined` for a merchant without a document here. */
  merchantSignature(id: string): number | undefined
  /** Public, not failing, and live where nobody claimed it: what is seen when nothing else is asked for. */
  readonly isShown: Bits
  /** Numbers of the documents of the merchant, ascending. */
  documentsOf(merchantId: string): number[]
  /** Adds the documents of the merchant. */
  addMerchant(bits: Bits, id: string): void
  /** Adds the documents that have the facet. */
  addFacet(bits: Bits, name: string): void
  /** For each group of fields the documents in which one of them holds the folded word. Kept for a while. */
  findWord(word: string, groups: readonly (readonly Field[])[]): Promise<DocumentSet[]>
  /** Of all words in it, of documents that are not public too. */
  readonly spelling: Spelling
}

/** Sets of words are kept up to so many bytes: a thousand of the largest at a million endpoints. */
const MAX_WORD_BYTES = 128 * 1024 * 1024

export function createBaseIndex(parts: BaseParts, turns: Turns): BaseIndex {
  const { ids, facets, facetPostings, merchants, merchantPostings, merchantSignatures } = parts
  const { scratch } = parts
  const size = ids.length
  const words = createLru<DocumentSet>(MAX_WORD_BYTES, ({ bytes }) => bytes)

  const isShown = createBits(size)
  addFacet(isShown, facet.status('failing'))
  const isLive = createBits(size)
  addFacet(isLive, facet.status('live'))
  for (let i = 0; i < isShown.length; i++) {
    const isWaiting = (parts.isUnclaimed[i] as number) & ~(isLive[i] as number)
    isShown[i] = (parts.isPublic[i] as number) & ~((isShown[i] as number) | isWaiting)
  }

  function addFacet(bits: Bits, name: string): void {
    const key = facets.find(name)
    if (key !== undefined) facetPostings.addTo([bits], key)
  }

  return {
    ...parts,
    size,
    find(endpointId) {
      const number = lowerBound(ids.length, ids.at, endpointId)
      return number < size && ids.at(number) === endpointId ? number : -1
    },
    merchantSignature(id) {
      const number = merchants.find(id)
      return number === undefined ? undefined : merchantSignatures.at(number)
    },
    isShown,
    spelling: parts.terms.spelling,
    documentsOf(merchantId) {
      const number = merchants.find(merchantId)
      return number === undefined ? [] : merchantPostings.membersOf(number)
    },
    addMerchant(bits, id) {
      const number = merchants.find(id)
      if (number !== undefined) merchantPostings.addTo([bits], number)
    },
    addFacet,
    async findWord(word, groups) {
      const keyOf = (group: readonly Field[]) => `${group.join()}:${word}`
      // Held from now on: while others work it may be dropped from what is kept.
      const found = new Map(groups.map((group) => [group, words.get(keyOf(group))]))
      const missing = groups.filter((group) => found.get(group) === undefined)
      const fresh = missing.length === 0 ? [] : await parts.terms.find(word, missing)
      for (const [i, group] of missing.entries()) {
        const set = packBits(fresh[i] as Bits, scratch)
        words.set(keyOf(group), set)
        found.set(group, set)
        if (turns.isOver()) await turns.next()
      }
      return [...found.values()] as DocumentSet[]
    },
  }
}
