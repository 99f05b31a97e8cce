import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createDistances,
  createWordCounts,
  findCorrections,
} from '../../../src/discovery/spelling.js'

const distance = (from: string, to: string, max = 9) => createDistances(from, max).toWord(to)

/** The distance as it is defined. */
function defined(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)]
  const isSwap = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1)
  return Math.min(
    defined(shortA, b) + 1,
    defined(a, shortB) + 1,
    defined(shortA, shortB) + (a.at(-1) === b.at(-1) ? 0 : 1),
    isSwap ? defined(a.slice(0, -2), b.slice(0, -2)) + 1 : Number.POSITIVE_INFINITY,
  )
}

describe('the distance', () => {
  it.each([
    ['weather', 'weather', 0],
    ['wether', 'weather', 1],
    ['weaather', 'weather', 1],
    ['weathor', 'weather', 1],
    ['wethear', 'weather', 2],
    ['forecsat', 'forecast', 1],
    ['ofrecast', 'forecast', 1],
    // A pair that was swapped is not touched again.
    ['ca', 'abc', 3],
    ['', 'abc', 3],
  ])('from %s to %s is %i', (from, to, expected) => {
    expect(distance(from, to)).toBe(expected)
    expect(distance(to, from)).toBe(expected)
  })

  it('is what the definition says, up to the maximum and one more beyond it', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '天'), maxLength: 5 })
    fc.assert(
      fc.property(word, fc.array(word, { maxLength: 4 }), fc.nat(3), (from, others, max) => {
        const { toWord, toBeginning } = createDistances(from, max)
        for (const other of others) {
          const expected = Math.min(defined(from, other), max + 1)
          expect(toWord(other)).toBe(expected)
          const beginnings = Array.from({ length: other.length + 1 }, (_, length) => ({
            distance: Math.min(defined(from, other.slice(0, length)), max + 1),
            length,
          }))
          const least = Math.min(...beginnings.map(({ distance }) => distance))
          const nearest = toBeginning(other)
          expect(nearest.distance).toBe(least)
          if (least <= max) {
            expect(nearest).toEqual(beginnings.findLast(({ distance }) => distance === least))
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the words of the texts', () => {
  it('are counted in all texts, and gone with the last text that has them', () => {
    const words = createWordCounts()
    words.add({ text: 'weather and\nfeather', labels: '' })
    words.add({ text: 'the weather', labels: '' })
    const near = () => words.near('xeather', 1).sort((a, b) => b.count - a.count)
    expect(near()).toEqual([
      { word: 'weather', isWhole: true, distance: 1, count: 2 },
      { word: 'feather', isWhole: true, distance: 1, count: 1 },
    ])
    words.remove({ text: 'weather and\nfeather', labels: '' })
    expect(near()).toEqual([{ word: 'weather', isWhole: true, distance: 1, count: 1 }])
    words.remove({ text: 'the weather', labels: '' })
    expect(near()).toEqual([])
  })

  it('are counted a few texts at a time, also when a text goes before its turn', () => {
    const words = createWordCounts()
    for (const text of ['weather', 'weather', 'feather']) words.add({ text, labels: '' })
    words.remove({ text: 'weather', labels: '' })
    words.remove({ text: 'feather', labels: '' })
    expect(words.count(2)).toBe(true)
    expect(words.count(2)).toBe(false)
    expect(words.near('xeather', 1)).toEqual([
      { word: 'weather', isWhole: true, distance: 1, count: 1 },
    ])
  })

  it('are never cut within a letter of two UTF-16 units', () => {
    const words = createWordCounts()
    words.add({ text: 'toke\u{1d4b3}abc', labels: '' })
    expect(words.near('tokem', 1)).toEqual([])
  })

  it('count together for a beginning that several of them have', () => {
    const words = createWordCounts()
    words.add({ text: 'tokens tokenized', labels: '' })
    expect(words.near('tokne', 1)).toEqual([
      { word: 'token', isWhole: false, distance: 1, count: 2 },
    ])
  })
})

/** Returns the corrections of words in a catalog of these texts, and how many searches that took. */
function corrected(texts: string[], query: string) {
  const words = createWordCounts()
  for (const text of texts) words.add({ text, labels: '' })
  let searches = 0
  const having = (words: readonly string[]) =>
    texts.filter((text) => words.every((word) => text.includes(word))).length
  const corrections = findCorrections(query.split(' '), {
    occurs: (word) => having([word]) > 0,
    isFound: (words) => {
      searches++
      return having(words) > 0
    },
    words,
  })
  return { corrections: Object.fromEntries(corrections), searches }
}

const correctionsOf = (texts: string[], query: string) => corrected(texts, query).corrections

describe('a word that is nowhere', () => {
  it.each([
    ['wether', 'weather'],
    ['weathre', 'weather'],
    ['forecsat', 'forecast'],
    ['ofrecast', 'forecast'],
    ['frecasst', 'forecast'],
    ['cripto', 'crypto'],
    ['apis', 'api'],
    ['wettervorhersga', 'wettervorhersage'],
    ['(wether)?', 'weather'],
    ['weather,', 'weather'],
  ])('%s becomes %s', (typed, meant) => {
    const texts = ['weather.', 'a forecast', '"crypto"', 'api', 'wettervorhersage']
    expect(correctionsOf(texts, typed)).toEqual({ [typed]: meant })
  })

  it.each([
    ['tokne', 'token', ['tokens', 'tokenized']],
    ['cripto', 'crypto', ['cryptocurrency']],
    ['forcas', 'forecas', ['forecast']],
    ['tokne', 'tone', ['tokens', 'tone']],
  ])(
    '%s becomes %s, the beginning of longer words where no whole one is near',
    (typed, meant, texts) => {
      expect(correctionsOf(texts, typed)).toEqual({ [typed]: meant })
    },
  )

  it.each([
    ['four letters of a longer word', 'bnod', 'bonded'],
    ['another first letter of a longer word', 'xokens', 'tokenized'],
    ['three letters', 'wap', 'map'],
    ['digits in it', 'base32', 'base64'],
    ['an address', '0xabcdef12', '0xabcdef13'],
    ['two edits in seven letters', 'wethera', 'weather'],
    ['three edits in eight letters', 'frcasttt', 'forecast'],
    ['signs within', 'wether-map', 'weather-map'],
    ['signs alone', '%%%%', 'map'],
    ['a neighbour with digits', 'basse', 'base2'],
    ['33 letters', 'x'.repeat(33), 'x'.repeat(32)],
  ])('stays as it is: %s', (_, typed, listed) => {
    expect(correctionsOf([listed], typed)).toEqual({})
  })

  it('becomes the nearest, then one that begins alike, then the most frequent, then the first by letters', () => {
    const nearest = ['forecats', ...Array(3).fill('fortcastz')]
    expect(correctionsOf(nearest, 'forecasts')).toEqual({ forecasts: 'forecats' })
    expect(correctionsOf(['bear', 'year', 'year'], 'beap')).toEqual({ beap: 'bear' })
    expect(correctionsOf(['bear', 'fear', 'fear'], 'wear')).toEqual({ wear: 'fear' })
    expect(correctionsOf(['bead', 'bear', 'bear'], 'beap')).toEqual({ beap: 'bear' })
    expect(correctionsOf(['bear', 'bead'], 'beap')).toEqual({ beap: 'bead' })
  })

  it('becomes one that is found together with the others', () => {
    const texts = ['weather map', 'leather bag', 'leather shoe', 'feather']
    expect(correctionsOf(texts, 'xeather')).toEqual({ xeather: 'leather' })
    expect(correctionsOf(texts, 'xeather map')).toEqual({ xeather: 'weather' })
    const both = { maap: 'map', xeather: 'weather' }
    expect(correctionsOf(texts, 'xeather maap')).toEqual(both)
    expect(correctionsOf(texts, 'xeather shoe map')).toEqual({})
  })

  it('is left alone beside one that cannot be helped, and among more than four', () => {
    const texts = ['alpha bravo charlie delta foxtrot']
    expect(correctionsOf(texts, 'alpha bravi')).toEqual({ bravi: 'bravo' })
    expect(correctionsOf(texts, 'alphi bravi charlia delti')).toEqual({
      alphi: 'alpha',
      bravi: 'bravo',
      charlia: 'charlie',
      delti: 'delta',
    })
    expect(correctionsOf(texts, 'alphi bravi charly delti foxtrod')).toEqual({})
    expect(correctionsOf(texts, 'alphi zzzz')).toEqual({})
    expect(correctionsOf(texts, 'alphi zz')).toEqual({})
  })

  it('is not taken for a part of another word, however many words have that part', () => {
    const texts = ['a video', 'some video', 'vide', 'provided', 'provider', 'divided']
    expect(correctionsOf(texts, 'vidoe')).toEqual({ vidoe: 'video' })
  })

  it('has at most eight neighbours tried, the most frequent of the nearest', () => {
    const texts = [...'abcdefghijkl'].flatMap((letter, i) => Array(i + 1).fill(`bea${letter}`))
    expect(corrected([...texts, 'map'], 'beaz')).toEqual({
      corrections: { beaz: 'beal' },
      searches: 1,
    })
    const beside = corrected([...texts, 'map capy'], 'map beaz')
    expect(beside).toEqual({ corrections: {}, searches: 1 + 8 })
    const two = corrected([...texts, 'map capy'], 'map beaz capz')
    expect(two).toEqual({ corrections: {}, searches: 1 + 1 + 4 })
  })
})
