import { parseUrl } from '../x402/parse-url.js'
import { listingLimits } from './listing-limits.js'
import { countChars, findUnwelcome } from './listing-text.js'

const { maxChars } = listingLimits.url

/** What is wrong with the URL of an endpoint, in words that follow its name. Where it may lead, the probe says. */
export function urlProblem(raw: string): string | undefined {
  const character = findUnwelcome(raw, 'one-line')
  if (character !== undefined) return `must not contain the character ${character}`
  if (countChars(raw) > maxChars) return `must be at most ${maxChars} characters`
  if (/[\s\\]/.test(raw)) return 'must not contain blanks or backslashes'
  const url = /^https?:\/\//i.test(raw) ? parseUrl(raw) : undefined
  if (url === undefined) {
    return 'must be an absolute URL that starts with https:// or http://'
  }
  const { username, password, href } = url
  if (username !== '' || password !== '') return 'must not contain a user name or password'
  if (raw.includes('#')) return 'must not contain a fragment (#)'
  // What is not ASCII grows when it is escaped.
  if (href.length > maxChars) return `must be at most ${maxChars} characters when escaped`
  return undefined
}
