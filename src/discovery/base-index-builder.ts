import { type BaseIndex, createBaseIndex } from './base-index.js'
import { type Bits, createBits, setBit } from './bits.js'
import { facet, type IndexDocument, type IndexMerchant, type Quote } from './index-document.js'
import { createFloatList, createNumberList } from './number-list.js'
import { createPostingsBuilder } from './postings.js'
import { createScratch } from './scratch.js'
import { createTermIndexBuilder } from './term-index.js'
import { createTokenTable } from './token-table.js'
import type { Turns } from './turns.js'

export interface BaseIndexBuilder {
  hasMerchant(id: string): boolean
  addMerchant(merchant: IndexMerchant): void
  /** In ascending order of endpoint id, each after its merchant. */
  add(document: IndexDocument): void
  /** To be called once, after the last document. */
  finish(): Promise<BaseIndex>
}

const DOCUMENTS_BETWEEN_LOOKS = 8_192

/** Texts are left out of an outline. */
export function createBaseIndexBuilder(turns: Turns, isOutline: boolean): BaseIndexBuilder {
  const merchants = createTokenTable()
  const merchantSignatures = createFloatList()
  /** By number of merchant: 1 public, 2 official, 4 unclaimed. */
  const merchantFlags = createNumberList()
  const merchantOf = createNumberList()
  const merchantPostings = createPostingsBuilder(0)
  const facets = createTokenTable()
  const facetPostings = createPostingsBuilder(0)
  const terms = createTermIndexBuilder()
  const pairs = new Map<string, Pick<Quote, 'scheme' | 'network'>>()
  const ids = createFloatList()
  const signatures = createFloatList()
  const prices = createFloatList()

  async function documentsWhere(flag: number): Promise<Bits> {
    const bits = createBits(ids.length)
    for (let number = 0; number < ids.length; number++) {
      if ((merchantFlags.at(merchantOf.at(number)) & flag) !== 0) setBit(bits, number)
      if (number % DOCUMENTS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
    }
    return bits
  }

  return {
    hasMerchant: (id) => merchants.find(id) !== undefined,
    addMerchant({ id, texts, signature, isPublic, isOfficial, isUnclaimed }) {
      const number = merchants.numberOf(id)
      if (!isOutline) terms.addMerchant(number, texts)
      merchantSignatures.push(signature)
      merchantFlags.push(Number(isPublic) | (Number(isOfficial) << 1) | (Number(isUnclaimed) << 2))
    },
    add(document) {
      const number = ids.length
      const merchant = merchants.numberOf(document.merchantId)
      if (!isOutline) terms.addDocument(number, document.texts)
      for (const name of document.facets) facetPostings.add(facets.numberOf(name), number)
      for (const quote of document.quotes) pairs.set(facet.pair(quote), quote)
      merchantPostings.add(merchant, number)
      merchantOf.push(merchant)
      ids.push(document.id)
      signatures.push(document.signature)
      prices.push(document.price)
    },
    async finish() {
      const documents = ids.length
      const scratch = createScratch()
      const documentsOf = await merchantPostings.finish(documents, turns)
      const surroundings = {
        documents,
        merchants: merchants.size,
        merchantPostings: documentsOf,
        scratch,
        turns,
      }
      const parts = {
        isOutline,
        ids,
        signatures,
        prices,
        isPublic: await documentsWhere(1),
        isOfficial: await documentsWhere(2),
        isUnclaimed: await documentsWhere(4),
        pairs: [...pairs.values()].map(({ scheme, network }) => ({ scheme, network })),
        merchants,
        merchantSignatures,
        merchantPostings: documentsOf,
        facets,
        facetPostings: await facetPostings.finish(documents, turns),
        terms: await terms.finish(surroundings),
        scratch,
      }
      return createBaseIndex(parts, turns)
    },
  }
}
