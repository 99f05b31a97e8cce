export interface Summary {
  /** The chosen sentences in the order of the text. */
  summary: string
  sentences: number
  words: number
}

/** Words that say nothing about what a text is about. */
const common = new Set(
  'a about after all also an and are as at be because been but by can could did do for from had has have he her his if in into is it its more no not of on one or other our out she so some than that the their them then there they this to up was we were what when which who will with would you your'.split(
    ' ',
  ),
)

/**
 * Picks the sentences that say most of the whole text, after Luhn: how often their telling words occur in it, times
 * the share of such words, so that neither long sentences win for being long nor short ones for being short.
 */
export function summarize(text: string, maxSentences: number): Summary {
  const sentences = [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment(text)]
    .map(({ segment }) => segment.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '')
  const words = sentences.map(wordsOf)
  const counts = new Map<string, number>()
  for (const word of words.flat()) counts.set(word, (counts.get(word) ?? 0) + 1)
  const scores = words.map((own) => {
    const telling = own.filter((word) => !common.has(word))
    const sum = telling.reduce((total, word) => total + (counts.get(word) ?? 0), 0)
    return own.length === 0 ? 0 : (sum * telling.length) / own.length
  })
  const chosen = scores
    .map((score, place) => ({ score, place }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, maxSentences)
    .map(({ place }) => place)
    .sort((a, b) => a - b)
  return {
    summary: chosen.map((place) => sentences[place]).join(' '),
    sentences: sentences.length,
    words: words.flat().length,
  }
}

function wordsOf(sentence: string): string[] {
  return sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
