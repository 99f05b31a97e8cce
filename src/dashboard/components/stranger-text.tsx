import { manyLines, oneLine, safeHref, splitUrl } from '../format/hostile-text.js'
import { Icon } from './icons.js'

/** A stranger's words: no direction or invisible marks, bounded, and kept from turning what stands around them. */
export function StrangerText({
  text,
  max = 100,
  lines = false,
}: {
  text: string
  max?: number
  lines?: boolean
}) {
  return (
    <bdi className={lines ? 'block whitespace-pre-line' : ''}>
      {lines ? manyLines(text, max) : oneLine(text, max)}
    </bdi>
  )
}

/** An address of the web as text, its host standing out. */
export function UrlText({ url, max = 120 }: { url: string; max?: number }) {
  const { host, rest } = splitUrl(url)
  return (
    <bdi dir="ltr" className="font-mono text-xs text-muted" title={oneLine(url, 2_048)}>
      <span className="text-ink">{oneLine(host, 80)}</span>
      {oneLine(rest, max)}
    </bdi>
  )
}

/** A link to somewhere else; plain text when the address is not one of the web. */
export function OutLink({ href, children }: { href: string; children: React.ReactNode }) {
  const safe = safeHref(href)
  if (safe === undefined) return <span>{children}</span>
  return (
    <a
      href={safe}
      target="_blank"
      rel="noopener noreferrer nofollow ugc"
      className="inline-flex items-center gap-1 underline decoration-line-strong underline-offset-4 hover:text-accent hover:decoration-current"
    >
      {children}
      <Icon name="out" size={12} />
      <span className="sr-only">(opens another site)</span>
    </a>
  )
}
