import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createTurns } from '../../../src/discovery/turns.js'
import { createVocabularyBuilder } from '../../../src/discovery/vocabulary.js'

async function find(tokens: string[], word: string): Promise<string[]> {
  const builder = createVocabularyBuilder()
  const texts = new Map<number, string>()
  let next = 0
  builder.add(tokens.join(' \n'), (number) => texts.set(number, tokens[next++] as string))
  const vocabulary = await builder.finish(createTurns())
  const found = await vocabulary.find(word)
  return found.map((number) => texts.get(number) as string).sort()
}

const letters = fc.constantFrom('a', 'b', '%', '_', 'é', '天', '\u{1f327}', '\\', '.')
const text = (maxLength: number) => fc.string({ unit: letters, minLength: 1, maxLength })

it('finds each token that holds the word, once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text(50)), text(4), async (tokens, word) => {
      expect(await find(tokens, word)).toEqual(tokens.filter((it) => it.includes(word)).sort())
    }),
  )
})

it('finds tokens beyond the first chunk, by one letter, by two and by many', async () => {
  const tokens = Array.from({ length: 10_000 }, (_, i) => `token${i}`)
  tokens.push('x'.repeat(500))
  for (const word of ['9', '99', '9998', 'n', 'x', 'xx', 'x'.repeat(400), 'q', 'qq', 'tokens']) {
    const expected = tokens.filter((token) => token.includes(word)).sort()
    expect(await find(tokens, word), word).toEqual(expected)
  }
})

it('visits each token once, with its number', async () => {
  const tokens = Array.from({ length: 5_000 }, (_, i) => `token${i}`)
  const builder = createVocabularyBuilder()
  const numbers: number[] = []
  builder.add(tokens.join(' '), (number) => numbers.push(number))
  const vocabulary = await builder.finish(createTurns())
  const visited: [string, number][] = []
  await vocabulary.each((token, number) => visited.push([token, number]))
  expect(visited).toEqual(tokens.map((token, i) => [token, numbers[i]]))
})
