/** Texts of a made-up catalog: the same for the same count, on any machine. */
export interface Corpus {
  merchants: number
  endpoints: number
  merchantOf(endpoint: number): number
  merchantName(merchant: number): string
  merchantAbout(merchant: number): string
  title(endpoint: number): string
  description(endpoint: number): string
  tags(endpoint: number): string[]
  path(endpoint: number): string
}

/** Words planted so that how many endpoints hold them is known. */
export const planted = {
  /** In 37 of 100 descriptions. */
  common: 'realtime',
  /** In just below one title in 100. */
  onePercent: 'zephyr',
  /** In just below one title in 10,000. */
  rare: 'quokka',
} as const

const ENDPOINTS_A_MERCHANT = 10
const WORDS = 20_000
const topics =
  'weather forecast price market crypto token swap news search image video audio speech text translate summary sentiment company stock bond flight hotel train map route place address email phone identity risk score fraud domain dns whois patent court law health drug protein genome chemistry energy carbon soil crop satellite ocean tide air quality traffic parking sports match odds game music film book recipe nutrition job salary course exam language code review test deploy log metric alert sensor robot drone ship port customs tax invoice ledger audit'.split(
    ' ',
  )
const syllables =
  'ba be bi bo ca co cu da de di do fa fe fi ga go ha hi ho ja jo ka ki la le li lo lu ma me mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo wa wi ya yo za ze'.split(
    ' ',
  )

export function createCorpus(endpoints: number): Corpus {
  const merchants = Math.max(1, Math.ceil(endpoints / ENDPOINTS_A_MERCHANT))

  /** Few words are frequent and most are rare, as in any language. */
  function word(seed: number, i: number): string {
    const share = random(seed, i)
    if (random(seed, i + 7_919) < 0.5)
      return topics[Math.floor(share ** 2 * topics.length)] as string
    return invented(Math.floor(share ** 3 * WORDS))
  }

  const phrase = (seed: number, count: number) =>
    Array.from({ length: count }, (_, i) => word(seed, i)).join(' ')

  return {
    merchants,
    endpoints,
    merchantOf: (endpoint) => Math.floor(endpoint / ENDPOINTS_A_MERCHANT),
    merchantName: (merchant) => `${capital(phrase(merchant + 5e8, 2))} ${merchant}`,
    merchantAbout: (merchant) => `${capital(phrase(merchant + 6e8, 12))}.`,
    title(endpoint) {
      const extra = [
        ...(endpoint % 101 === 50 ? [planted.onePercent] : []),
        ...(endpoint % 10_007 === 500 ? [planted.rare] : []),
        // Many listings carry a code that no other has.
        ...(endpoint % 3 === 0 ? [endpoint.toString(36).padStart(5, '0')] : []),
      ]
      return [capital(phrase(endpoint, 2 + (endpoint % 3))), ...extra].join(' ')
    },
    description(endpoint) {
      const isCommon = random(endpoint, 4_001) < 0.37
      return `${capital(phrase(endpoint + 3e8, 10 + (endpoint % 15)))}${isCommon ? `, ${planted.common}` : ''}.`
    },
    tags: (endpoint) => [...new Set([word(endpoint + 4e8, 1), word(endpoint + 4e8, 2)])],
    path: (endpoint) => `${word(endpoint + 7e8, 1)}/${word(endpoint + 7e8, 2)}-${endpoint % 1_000}`,
  }
}

function invented(number: number): string {
  let rest = number + syllables.length
  let text = ''
  while (rest > 0) {
    text += syllables[rest % syllables.length]
    rest = Math.floor(rest / syllables.length)
  }
  return text
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** From 0 to 1, the same for the same two numbers. */
function random(seed: number, i: number): number {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(i + 1, 0xc2b2ae35)
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39)
  return ((h ^ (h >>> 15)) >>> 0) / 2 ** 32
}
