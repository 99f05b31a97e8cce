import { describe, expect, it } from 'vitest'
import { createWordCounts, findCorrections } from '../../../src/discovery/spelling.js'

/** Returns the corrections of words in a catalog of these texts, and how many searches that took. */
function corrected(texts: string[], query: string) {
  const words = createWordCounts()
  for (const text of texts) words.add(text)
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
