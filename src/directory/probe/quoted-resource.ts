import { isRecord } from './clean-json.js'
import { cleanText } from './clean-text.js'
import { judgeTarget } from './target-rules.js'

/** What a 402 says about the resource it sells: claims of a stranger, bounded and cleaned. */
export interface QuotedResource {
  url?: string
  description?: string
  mimeType?: string
  serviceName?: string
  tags?: string[]
  iconUrl?: string
}

/** x402 v2 bounds name, tags and icon; the others are ours. */
const MAX_URL_CHARS = 2_048
const MAX_DESCRIPTION_CHARS = 1_000
const MAX_TAGS = 5
const serviceName = /^[\x20-\x7e]{1,32}$/
const mimeType = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(; ?[\w-]{1,32}=[\w.-]{1,32})?$/

/** Reads `resource` of a 402, leaving out every member that is not as it should be. */
export function readQuotedResource(resource: unknown): QuotedResource {
  if (!isRecord(resource)) return {}
  const tags = readTags(resource.tags)
  const description = clean(resource.description, MAX_DESCRIPTION_CHARS)
  const url = clean(resource.url, MAX_URL_CHARS)
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...matching(resource, 'mimeType', (text) => mimeType.test(text)),
    ...matching(resource, 'serviceName', (text) => serviceName.test(text) && text.trim() !== ''),
    ...matching(resource, 'iconUrl', isIconUrl),
    ...(tags.length === 0 ? {} : { tags }),
  }
}

function clean(value: unknown, maxChars: number): string | undefined {
  const text = typeof value === 'string' ? cleanText(value, maxChars) : ''
  return text === '' ? undefined : text
}

function matching<Name extends string>(
  resource: Record<string, unknown>,
  name: Name,
  isGood: (text: string) => boolean,
): { [name in Name]?: string } {
  const value = resource[name]
  if (typeof value !== 'string' || !isGood(value)) return {}
  return { [name]: value } as { [name in Name]: string }
}

/** A page that shows the icon makes its reader call that address: only what we would call ourselves. */
function isIconUrl(text: string): boolean {
  if (text.length > MAX_URL_CHARS) return false
  return judgeTarget(text, { allowPrivateHosts: false, ownOrigins: [] }).isAllowed
}

function readTags(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  const tags = value
    .slice(0, 50)
    .filter((tag): tag is string => typeof tag === 'string' && serviceName.test(tag))
    .map((tag) => tag.trim())
  const seen = new Set<string>()
  const isNew = (tag: string) =>
    tag !== '' && !seen.has(tag.toLowerCase()) && seen.add(tag.toLowerCase())
  return tags.filter(isNew).slice(0, MAX_TAGS)
}
