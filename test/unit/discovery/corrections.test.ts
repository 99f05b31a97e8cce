import { describe, expect, it } from 'vitest'
import { findCorrections } from '../../../src/discovery/corrections.js'
import { createSpellingBuilder } from '../../../src/discovery/spelling.js'
import { createTurns } from '../../../src/discovery/turns.js'

/** What is looked for instead of words, in a catalog of these texts; and how many searches that took. */
async function corrected(texts: string[], query: string) {
  const turns = createTurns()
  const builder = createSpellingBuilder()
  for (const text of texts) builder.add(text, 1)
  const spelling = await builder.finish(turns)
  let searches = 0
  const having = (words: readonly string[]) =>
    texts.filter((text) => words.every((word) => text.includes(word))).length
  const corrections = await findCorrections(query.split(' '), {
    occurs: async (word) => having([word]) > 0,
    isFound: async (words) => {
      searches++
      return having(words) > 0
    },
    spellings: [spelling],
  })
  return { corrections: Object.fromEntries(corrections), searches }
}

const correctionsOf = async (texts: string[], query: string) =>
  (await corrected(texts, query)).corrections

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
  ])('%s becomes %s', async (typed, meant) => {
    const texts = ['weather.', 'a forecast', '"crypto"', 'api', 'wettervorhersage']
    expect(await correctionsOf(texts, typed)).toEqual({ [typed]: meant })
  })

  it.each([
    ['tokne', 'token', ['tokens', 'tokenized']],
    ['cripto', 'crypto', ['cryptocurrency']],
    ['forcas', 'forecas', ['forecast']],
    ['tokne', 'tone', ['tokens', 'tone']],
  ])(
    '%s becomes %s, the beginning of longer words where no whole one is near',
    async (typed, meant, texts) => {
      expect(await correctionsOf(texts, typed)).toEqual({ [typed]: meant })
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
  ])('stays as it is: %s', async (_, typed, listed) => {
    expect(await correctionsOf([listed], typed)).toEqual({})
  })

  it('becomes the nearest, then one that begins alike, then the most frequent, then the first by letters', async () => {
    const nearest = ['forecats', ...Array(3).fill('fortcastz')]
    expect(await correctionsOf(nearest, 'forecasts')).toEqual({ forecasts: 'forecats' })
    expect(await correctionsOf(['bear', 'year', 'year'], 'beap')).toEqual({ beap: 'bear' })
    expect(await correctionsOf(['bear', 'fear', 'fear'], 'wear')).toEqual({ wear: 'fear' })
    expect(await correctionsOf(['bead', 'bear', 'bear'], 'beap')).toEqual({ beap: 'bear' })
    expect(await correctionsOf(['bear', 'bead'], 'beap')).toEqual({ beap: 'bead' })
  })

  it('becomes one that is found together with the others', async () => {
    const texts = ['weather map', 'leather bag', 'leather shoe', 'feather']
    expect(await correctionsOf(texts, 'xeather')).toEqual({ xeather: 'leather' })
    expect(await correctionsOf(texts, 'xeather map')).toEqual({ xeather: 'weather' })
    const both = { maap: 'map', xeather: 'weather' }
    expect(await correctionsOf(texts, 'xeather maap')).toEqual(both)
    expect(await correctionsOf(texts, 'xeather shoe map')).toEqual({})
  })

  it('is left alone beside one that cannot be helped, and among more than four', async () => {
    const texts = ['alpha bravo charlie delta foxtrot']
    expect(await correctionsOf(texts, 'alpha bravi')).toEqual({ bravi: 'bravo' })
    expect(await correctionsOf(texts, 'alphi bravi charlia delti')).toEqual({
      alphi: 'alpha',
      bravi: 'bravo',
      charlia: 'charlie',
      delti: 'delta',
    })
    expect(await correctionsOf(texts, 'alphi bravi charly delti foxtrod')).toEqual({})
    expect(await correctionsOf(texts, 'alphi zzzz')).toEqual({})
    expect(await correctionsOf(texts, 'alphi zz')).toEqual({})
  })

  it('is not taken for a part of what was meant, however many words have that part', async () => {
    const texts = ['a video', 'some video', 'vide', 'provided', 'provider', 'divided']
    expect(await correctionsOf(texts, 'vidoe')).toEqual({ vidoe: 'video' })
  })

  it('has eight neighbours looked for, the most frequent of the nearest', async () => {
    const texts = [...'abcdefghijkl'].flatMap((letter, i) => Array(i + 1).fill(`bea${letter}`))
    expect(await corrected([...texts, 'map'], 'beaz')).toEqual({
      corrections: { beaz: 'beal' },
      searches: 1,
    })
    const beside = await corrected([...texts, 'map capy'], 'map beaz')
    expect(beside).toEqual({ corrections: {}, searches: 1 + 8 })
    const two = await corrected([...texts, 'map capy'], 'map beaz capz')
    expect(two).toEqual({ corrections: {}, searches: 1 + 1 + 4 })
  })
})
