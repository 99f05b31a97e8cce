import { addBits, type Bits, keepBits, pageOfBits } from './bits.js'
import { urlPieces } from './fold.js'
import {
  type EndpointField,
  endpointFields,
  type Field,
  type MerchantField,
  merchantFields,
} from './index-document.js'
import { createPostingsBuilder, type Postings } from './postings.js'
import type { Scratch } from './scratch.js'
import { createSpellingBuilder, type Spelling } from './spelling.js'
import type { Turns } from './turns.js'
import { createVocabularyBuilder, type Vocabulary } from './vocabulary.js'

/** Finds what holds a word, field by field. Does not change. */
export interface TermIndex {
  /** The documents one of whose fields holds the folded word, for each group of fields; no field is in two groups. */
  find(word: string, groups: readonly (readonly Field[])[]): Promise<Bits[]>
  readonly spelling: Spelling
}

export interface TermIndexBuilder {
  /** Documents and merchants each come in ascending order of their numbers. */
  addDocument(number: number, texts: Record<EndpointField, string>): void
  addMerchant(number: number, texts: Record<MerchantField, string>): void
  /** To be called once, after the last text. */
  finish(surroundings: TermSurroundings): Promise<TermIndex>
}

export interface TermSurroundings {
  documents: number
  merchants: number
  /** From merchants to their documents. */
  merchantPostings: Postings
  scratch: Scratch
  turns: Turns
}

/** Merchants and URLs have words of their own: a search looks up each word that it finds. */
const plainFields = endpointFields.filter((field) => field !== 'url')

export function createTermIndexBuilder(): TermIndexBuilder {
  const words = createVocabularyBuilder()
  const merchantWords = createVocabularyBuilder()
  const urlWords = createVocabularyBuilder()
  const documents = createPostingsBuilder(2)
  const merchants = createPostingsBuilder(1)
  const urls = createPostingsBuilder(0)

  return {
    addDocument(number, texts) {
      plainFields.forEach((name, field) => {
        words.add(texts[name], (token) => documents.add(token, number, field))
      })
      urlWords.add(texts.url, (token) => urls.add(token, number))
    },
    addMerchant(number, texts) {
      merchantFields.forEach((name, field) => {
        merchantWords.add(texts[name], (token) => merchants.add(token, number, field))
      })
    },
    async finish(surroundings) {
      const { turns } = surroundings
      const parts = {
        words: await words.finish(turns),
        merchantWords: await merchantWords.finish(turns),
        urlWords: await urlWords.finish(turns),
        documents: await documents.finish(surroundings.documents, turns),
        merchants: await merchants.finish(surroundings.merchants, turns),
        urls: await urls.finish(surroundings.documents, turns),
      }
      return createTermIndex(surroundings, parts, await learnSpelling(parts, turns))
    },
  }
}

interface TermParts {
  words: Vocabulary
  merchantWords: Vocabulary
  urlWords: Vocabulary
  documents: Postings
  merchants: Postings
  urls: Postings
}

async function learnSpelling(parts: TermParts, turns: Turns): Promise<Spelling> {
  const spelling = createSpellingBuilder()
  const texts = [
    [parts.words, parts.documents],
    [parts.merchantWords, parts.merchants],
    [parts.urlWords, parts.urls],
  ] as const
  for (const [vocabulary, postings] of texts) {
    await vocabulary.each((token, number) => spelling.add(token, postings.countOf(number)))
  }
  return spelling.finish(turns)
}

function createTermIndex(
  surroundings: TermSurroundings,
  parts: TermParts,
  spelling: Spelling,
): TermIndex {
  const { scratch, merchantPostings } = surroundings
  const sizes = surroundings

  /** In URLs a word is looked for piece by piece; one that is nothing but slashes is in all of them. */
  async function findInUrls(word: string, into: Bits): Promise<void> {
    const found = scratch.take(sizes.documents).fill(0xffffffff)
    for (const piece of urlPieces(word)) {
      const withPiece = scratch.take(sizes.documents)
      await parts.urls.addAll([withPiece], await parts.urlWords.find(piece))
      keepBits(found, withPiece)
      scratch.give(withPiece)
    }
    addBits(into, found)
    scratch.give(found)
  }

  return {
    spelling,
    async find(word, groups) {
      const found = groups.map(() => scratch.take(sizes.documents))
      const merchantsFound = groups.map(() => scratch.take(sizes.merchants))
      const groupOf = (field: Field) => groups.findIndex((group) => group.includes(field))
      // Merchants first: where their texts hold the word, there is little left to look for.
      const merchantTargets = merchantFields.map((field) => merchantsFound[groupOf(field)])
      await parts.merchants.addAll(merchantTargets, await parts.merchantWords.find(word))
      for (const [i, merchants] of merchantsFound.entries()) {
        const numbers = pageOfBits(merchants, 0, Number.POSITIVE_INFINITY)
        await merchantPostings.addAll([found[i]], numbers)
        scratch.give(merchants)
      }
      const targets = plainFields.map((field) => found[groupOf(field)])
      await parts.documents.addAll(targets, await parts.words.find(word))
      const inUrls = found[groupOf('url')]
      if (inUrls !== undefined) await findInUrls(word, inUrls)
      return found
    },
  }
}
