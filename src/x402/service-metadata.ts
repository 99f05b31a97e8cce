import { memberOf } from './json-walk.js'
import { parseUrl } from './parse-url.js'

/** What a resource says about the service behind it; only what is as it should be. */
export interface ServiceMetadata {
  serviceName?: string
  tags?: string[]
  iconUrl?: string
  mimeType?: string
}

/** ASCII alone counts the same in every language that reads it. */
const printable = /^[\x20-\x7e]{1,32}$/
const mimeType = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(; ?[\w-]{1,32}=[\w.-]{1,32})?$/
const MAX_TAGS = 5
/** Entries looked at to find those. */
const MAX_TAGS_READ = 100
const MAX_ICON_URL_CHARS = 2_048
const loopbackHosts = ['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']

/** Reads `resource` of a payload, leaving out every member that breaks its rule. Source: bazaar extension. */
export function readServiceMetadata(resource: unknown): ServiceMetadata {
  const serviceName = memberOf(resource, 'serviceName')
  const iconUrl = memberOf(resource, 'iconUrl')
  const mime = memberOf(resource, 'mimeType')
  const tags = readTags(memberOf(resource, 'tags'))
  return {
    ...(isPrintable(serviceName) ? { serviceName } : {}),
    ...(tags.length > 0 ? { tags } : {}),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
    ...(typeof mime === 'string' && mimeType.test(mime) ? { mimeType: mime } : {}),
  }
}

/** The first five good tags; of those that differ in case only, the first. */
function readTags(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  const tags = new Map<string, string>()
  for (const tag of value.slice(0, MAX_TAGS_READ)) {
    if (!isPrintable(tag) || tags.has(tag.toLowerCase())) continue
    tags.set(tag.toLowerCase(), tag)
    if (tags.size === MAX_TAGS) break
  }
  return [...tags.values()]
}

function isPrintable(value: unknown): value is string {
  return typeof value === 'string' && printable.test(value) && value.trim() !== ''
}

/**
 * Whether a page may show an icon from there: http or https, nobody's login, and a host with a name. The URL parser
 * unescapes and maps the host first, so that full-width, octal, hex and short spellings have become what they mean.
 */
export function isIconUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_ICON_URL_CHARS) return false
  if (!/^[^\p{Cc}\p{Cs}\s\\]+$/u.test(value)) return false
  const url = parseUrl(value)
  if (url === undefined) return false
  const { protocol, username, password, hostname } = url
  if (protocol !== 'https:' && protocol !== 'http:') return false
  if (username !== '' || password !== '') return false
  const host = hostname.toLowerCase().replace(/\.$/, '')
  if (host === '' || host.startsWith('[')) return false
  if (loopbackHosts.includes(host) || host.endsWith('.localhost')) return false
  return !/^(\d+\.){0,3}\d+$/.test(host) && !/^0x[0-9a-f]*$/.test(host)
}
