import { describe, expect, it } from 'vitest'
import { splitSentences, summarize } from '../../../src/hosted/endpoints.js'

describe('a summary', () => {
  it.each([
    ['blanks after marks', 'One here. Two here! "Three?" Four.', 4],
    ['line breaks', 'A title\nand a line\r\n\nanother', 3],
    ['small letters after a full stop', 'They sell fruit, e.g. apples. And pears.', 2],
    ['numbers', 'It cost 3.50 then. Now 4.', 2],
    ['scripts without blanks', '今日は雨。明日は晴れ！', 2],
    ['one sentence', 'no end', 1],
    ['nothing', ' \n ', 0],
  ])('splits at %s', (_, text, count) => {
    expect(splitSentences(text)).toHaveLength(count)
  })

  it('cuts what is no sentence to a bound, and loses no letter', () => {
    const text = `${'word '.repeat(900)}${'x'.repeat(3_500)}`
    const pieces = splitSentences(text)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(1_000)
    expect(pieces.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  })

  it.each([
    ['line breaks', `${'\n'.repeat(19_999)}a`],
    ['marks without blanks', 'A?'.repeat(10_000)],
    ['marks with blanks', 'A? '.repeat(6_666)],
    ['abbreviations', 'e.g. Mr. '.repeat(2_222)],
    ['blanks', `${' '.repeat(19_999)}a`],
    ['quotes after a mark', `.${'"'.repeat(19_998)}`],
    ['full stops', '.'.repeat(20_000)],
    ['one letter', 'a'.repeat(20_000)],
  ])('takes no time for %s', (_, text) => {
    const started = performance.now()
    summarize(text, 20)
    // The boundaries of Unicode took half a second to two seconds for the first of these.
    expect(performance.now() - started).toBeLessThan(200)
  })
})
