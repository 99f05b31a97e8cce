import { Icon } from '../../../components/icons.js'

/** Downloads what a list shows, and all that is on its other pages. */
export function CsvLink({ href, title }: { href: string; title?: string }) {
  return (
    <a
      href={href}
      download
      title={title}
      className="inline-flex h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken"
    >
      <Icon name="down" size={12} />
      CSV
    </a>
  )
}
