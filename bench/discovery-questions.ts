import { planted } from './discovery-corpus.js'

/** Questions of one kind, each asked once: what is kept from a question before must not answer it. */
export interface Kind {
  name: string
  /** The aim for the median, in milliseconds. */
  target: number | undefined
  paths: string[]
}

const letters = [...'abcdefghijklmnopqrstuvwxyz']
const resources = (query: string) => `/discovery/resources${query}`
const searches = (words: string[]) => words.map((word) => resources(`?q=${word}`))
const topicWords =
  'weather forecast price market crypto token swap news search image video audio speech text translate summary sentiment company stock bond'.split(
    ' ',
  )
const spread = (count: number, of: number, i: number) => Math.floor(((i + 0.5) * of) / count)
const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const MERCHANTS_ASKED = 100
const WARM_QUESTIONS = 1_000

/** Merchants, as many of them as there are, in questions that are not asked later. */
export function warmMerchants(endpoints: number): string[] {
  const merchants = Math.ceil(endpoints / 10)
  return range(WARM_QUESTIONS).map((i) =>
    resources(`?merchant=merchant-${spread(WARM_QUESTIONS, merchants, i)}&limit=${21 + (i % 80)}`),
  )
}

export function questions(endpoints: number): Kind[] {
  const merchants = Math.ceil(endpoints / 10)
  const target = endpoints > 100_000 ? 200 : 20
  // A third of the titles have a code that no other has; these are some of them.
  const codes = range(30).map((i) => {
    const endpoint = Math.floor(spread(30, endpoints, i) / 3) * 3
    return endpoint.toString(36).padStart(5, '0')
  })
  return [
    { name: 'no answer at all', target: undefined, paths: range(100).map(() => '/nothing') },
    {
      name: 'default page, each limit',
      target: 2,
      paths: range(100).map((i) =>
        resources(`?limit=${(i % 20) + 1}&offset=${Math.floor(i / 20)}`),
      ),
    },
    {
      name: 'merchant=',
      target: 2,
      paths: range(MERCHANTS_ASKED).map((i) =>
        resources(`?merchant=merchant-${spread(MERCHANTS_ASKED, merchants, i)}`),
      ),
    },
    {
      name: 'any offset',
      target,
      paths: range(100).map((i) => resources(`?offset=${spread(100, endpoints, i) + i}`)),
    },
    {
      name: 'sort=, any order and offset',
      target,
      paths: ['calls', 'payers', 'price', 'new', 'lastPaid'].flatMap((sort) =>
        range(20).map((i) => resources(`?sort=${sort}&offset=${spread(20, endpoints, i)}`)),
      ),
    },
    { name: 'q of one hit', target, paths: searches(codes) },
    { name: 'q of 0.01 %', target, paths: searches([planted.rare, 'quokk', 'uokka']) },
    {
      name: 'q just below 1 %',
      target,
      paths: searches([planted.onePercent, 'zephy', 'ephyr']),
    },
    { name: 'q of 37 %', target, paths: searches([planted.common, 'realtim', 'ealtime']) },
    { name: 'q of a topic', target, paths: searches(topicWords) },
    { name: 'q of one letter', target, paths: searches(letters) },
    {
      name: 'q of two letters',
      target,
      paths: searches(letters.map((letter, i) => letter + 'aeiou'[i % 5])),
    },
    {
      name: 'q of two words',
      target,
      paths: searches(topicWords.slice(1).map((word) => `weather+${word}`)),
    },
    {
      name: 'search, ranked',
      target,
      paths: topicWords.map((word) => `/discovery/search?query=${word}+a`),
    },
  ]
}

/** Asked again and again. */
export const repeated: Kind = {
  name: 'q repeated',
  target: 1,
  paths: Array.from({ length: 200 }, () => resources(`?q=${planted.common}`)),
}
