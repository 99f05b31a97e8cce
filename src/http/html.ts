import { createHash } from 'node:crypto'

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string)
}

/** Returns the headers of a page that has no script, no other host and no frame, and this style, which is known by its hash. */
export function staticPageHeaders(style: string): { 'content-security-policy': string } {
  return {
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  }
}

/** The part of a page that search engines and previews of links read. Its texts may be a stranger's. */
export interface PageHead {
  title: string
  /** One line. */
  description: string
  /** Absolute address of the page, and of an image of 1200 x 630. */
  url: string
  image: string
  /** Schema.org, as JSON-LD. */
  data: Record<string, unknown>
}

/** Matches the title of the built page, and its description where it has one. */
const TITLE = /<title>[^<]*<\/title>/
const DESCRIPTION = /\s*<meta\s+name="description"[^>]*>/

/** Writes a head into the built page. */
export function writeHead(
  page: string,
  { title, description, url, image, data }: PageHead,
): string {
  const meta = (key: 'name' | 'property', name: string, content: string) =>
    `<meta ${key}="${name}" content="${escapeHtml(content)}" />`
  const lines = [
    `<title>${escapeHtml(title)}</title>`,
    meta('name', 'description', description),
    `<link rel="canonical" href="${escapeHtml(url)}" />`,
    meta('property', 'og:type', 'website'),
    meta('property', 'og:site_name', 'Arcus'),
    meta('property', 'og:title', title),
    meta('property', 'og:description', description),
    meta('property', 'og:url', url),
    meta('property', 'og:image', image),
    meta('name', 'twitter:card', 'summary_large_image'),
    // A block of data: it does not run, so the policy for scripts leaves it alone.
    `<script type="application/ld+json">${toScriptJson(data)}</script>`,
  ]
  // A function, because a text of a stranger may hold `$&`.
  return page.replace(DESCRIPTION, '').replace(TITLE, () => lines.join('\n    '))
}

/** Renders JSON that cannot end the element it stands in. */
function toScriptJson(data: unknown): string {
  const escapes: Record<string, string> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026' }
  return JSON.stringify(data).replace(/[<>&]/g, (character) => escapes[character] as string)
}
