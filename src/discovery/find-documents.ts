import type { BaseIndex } from './base-index.js'
import { addBits, type Bits, dropBits, hasBit, keepBits, setBit } from './bits.js'
import type { CatalogView, OverlayDocument } from './catalog-view.js'
import { type Condition, isLive } from './conditions.js'
import { type DocumentSet, packBits, packNumbers } from './document-set.js'
import { urlPieces } from './fold.js'
import { type Field, type MerchantField, merchantFields } from './index-document.js'
import type { Turns } from './turns.js'

/** What `q` searches: names and descriptions of merchants and endpoints. */
const listFields: readonly Field[] = ['title', 'description', 'name', 'about']

/**
 * Where a search looks, best first. A document is of the first tier at which each word was met in its fields or in
 * those of a tier before.
 */
const tiers: readonly (readonly Field[])[] = [
  ['title'],
  ['tags', 'service'],
  ['name'],
  ['description', 'about'],
  ['url'],
]

export interface Question {
  /** Folded; each must be met. */
  words: readonly string[]
  conditions: readonly Condition[]
  /** Endpoints that failed, and found ones nobody saw live, are found too. */
  withFailing: boolean
}

const LETTERS = 'eaiontrslcudpmhgbfywkvxzjq0123456789'
const DOCUMENTS_BETWEEN_LOOKS = 64

/** All documents that answer the question; a word may be met in any of the fields of `q`. */
export async function findDocuments(
  view: CatalogView,
  question: Question,
  turns: Turns,
): Promise<DocumentSet> {
  const { base } = view
  const { scratch } = base
  const found = narrow(base, question)
  for (const word of question.words) {
    if (!found.some((bits) => bits !== 0)) break
    const [set] = await base.findWord(word, [listFields])
    keep(base, found, (bits) => set?.addTo(bits))
    if (turns.isOver()) await turns.next()
  }
  const all = overlaid(view, found)
  await eachChanged(view, question, turns, (entry) => {
    const isHeld = (word: string) => listFields.some((field) => holds(entry, field, word))
    if (question.words.every(isHeld)) setBit(all, entry.number)
  })
  return packBits(all, scratch)
}

/** All there is of a merchant: a look at its few documents instead of at sets as large as the catalog. */
export async function findOfMerchant(
  view: CatalogView,
  merchantId: string,
  conditions: readonly Condition[],
  turns: Turns,
): Promise<DocumentSet> {
  const { base, replaced } = view
  const isThere = (number: number) => hasBit(base.isPublic, number) && !hasBit(replaced, number)
  const numbers = base.documentsOf(merchantId).filter(isThere)
  const question = { words: [], conditions, withFailing: true }
  await eachChanged(view, question, turns, ({ number }) => numbers.push(number))
  return packNumbers(numbers)
}

/** Finds the words of one letter beforehand: each is in nearly everything, and none takes longer to look for. */
export async function findLetters(base: BaseIndex, isStopped: () => boolean): Promise<void> {
  for (const letter of LETTERS) {
    if (isStopped()) return
    await base.findWord(letter, [listFields])
  }
}

/** The same as `findDocuments`, ranked: for each tier first the live ones, then the others, so twice as many sets as there are tiers. */
export async function rankDocuments(
  view: CatalogView,
  question: Question,
  turns: Turns,
): Promise<DocumentSet[]> {
  const { base } = view
  const { scratch } = base
  const candidates = narrow(base, question)
  const words: { met: Bits; sets: DocumentSet[] }[] = []
  for (const word of question.words) {
    words.push({ met: scratch.take(base.size), sets: await base.findWord(word, tiers) })
  }
  const ranked: Bits[] = []
  for (let tier = 0; tier < tiers.length; tier++) {
    const live = scratch.take(base.size)
    addBits(live, candidates)
    for (const { met, sets } of words) {
      sets[tier]?.addTo(met)
      keepBits(live, met)
      if (turns.isOver()) await turns.next()
    }
    // What is found in this tier is no candidate for the next.
    dropBits(candidates, live)
    const others = scratch.take(base.size)
    addBits(others, live)
    keep(base, live, (bits) => isLive.find(base, bits))
    dropBits(others, live)
    ranked.push(overlaid(view, live), overlaid(view, others))
  }
  await eachChanged(view, question, turns, (entry) => {
    const tier = Math.max(...question.words.map((word) => tierOf(entry, word)))
    const isLast = isLive.isMet(entry.document, entry.merchant) ? 0 : 1
    const bits = ranked[tier * 2 + isLast]
    if (bits !== undefined) setBit(bits, entry.number)
  })
  for (const bits of [candidates, ...words.map(({ met }) => met)]) scratch.give(bits)
  const sets: DocumentSet[] = []
  for (const bits of ranked) {
    sets.push(packBits(bits, scratch))
    if (turns.isOver()) await turns.next()
  }
  return sets
}

/** Whether the word is in anything that is shown, whatever else is asked for. */
export async function occurs(
  view: CatalogView,
  word: string,
  withFailing: boolean,
  turns: Turns,
): Promise<boolean> {
  const { base, replaced } = view
  const question = { words: [word], conditions: [], withFailing }
  const sets = await base.findWord(word, tiers)
  const found = narrow(base, question)
  keep(base, found, (bits) => {
    for (const set of sets) set.addTo(bits)
  })
  dropBits(found, replaced)
  let isFound = found.some((bits) => bits !== 0)
  base.scratch.give(found)
  if (isFound) return true
  await eachChanged(view, question, turns, (entry) => {
    isFound ||= tierOf(entry, word) !== Number.POSITIVE_INFINITY
  })
  return isFound
}

/** What of the base meets the conditions. */
function narrow(base: BaseIndex, { conditions, withFailing }: Question): Bits {
  const found = base.scratch.take(base.size)
  addBits(found, withFailing ? base.isPublic : base.isShown)
  for (const condition of conditions) keep(base, found, (bits) => condition.find(base, bits))
  return found
}

/** Keeps what `fill` puts into an empty set. */
function keep({ scratch, size }: BaseIndex, found: Bits, fill: (bits: Bits) => void): void {
  const bits = scratch.take(size)
  fill(bits)
  keepBits(found, bits)
  scratch.give(bits)
}

/** With room for all documents of the view, without those that were replaced; `found` is spent. */
function overlaid({ base, size, replaced }: CatalogView, found: Bits): Bits {
  dropBits(found, replaced)
  if (found.length * 32 >= size) return found
  const all = base.scratch.take(size)
  addBits(all, found)
  base.scratch.give(found)
  return all
}

async function eachChanged(
  view: CatalogView,
  { conditions, withFailing }: Question,
  turns: Turns,
  visit: (entry: OverlayDocument & { number: number }) => void,
): Promise<void> {
  const isSeen = withFailing ? view.isPublic : view.isShown
  for (const [i, entry] of view.changed.entries()) {
    const { document, merchant, number } = entry
    const isMet = conditions.every((condition) => condition.isMet(document, merchant))
    if (isMet && hasBit(isSeen, number)) visit(entry)
    if (i % DOCUMENTS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
  }
}

/** Infinity when the word is nowhere. */
function tierOf(entry: OverlayDocument, word: string): number {
  const tier = tiers.findIndex((fields) => fields.some((field) => holds(entry, field, word)))
  return tier === -1 ? Number.POSITIVE_INFINITY : tier
}

function holds({ document, merchant }: OverlayDocument, field: Field, word: string): boolean {
  if (isOfMerchant(field)) return merchant.texts[field].includes(word)
  const text = document.texts[field]
  return field === 'url'
    ? urlPieces(word).every((piece) => text.includes(piece))
    : text.includes(word)
}

function isOfMerchant(field: Field): field is MerchantField {
  return (merchantFields as readonly Field[]).includes(field)
}
