import type { ReactNode } from 'react'
import { Icon } from './icons.js'

export function Card({ className = '', children }: { className?: string; children: ReactNode }) {
  return <div className={`rounded-2xl border border-line bg-raised ${className}`}>{children}</div>
}

/** A part of a page under a heading, with a note below the heading and controls next to it. The heading can take the focus. */
export function Section({
  title,
  note,
  aside,
  children,
}: {
  title: string
  note?: ReactNode
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="space-y-4">
      <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2">
        <div>
          <h2 tabIndex={-1} className="text-lg font-semibold tracking-tight">
            {title}
          </h2>
          {note !== undefined && <p className="max-w-prose text-sm text-muted">{note}</p>}
        </div>
        {aside}
      </div>
      {children}
    </section>
  )
}

/** Says that there is nothing here, and offers an action. */
export function Empty({
  title,
  children,
  action,
  isPage = false,
}: {
  title: string
  /** True if this is the whole page, so that the title is its heading. */
  isPage?: boolean
  children: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-14 text-center">
      <svg
        width="72"
        height="40"
        viewBox="0 0 72 40"
        fill="none"
        className="text-line-strong"
        aria-hidden="true"
      >
        <path
          d="M4 38a32 32 0 0 1 64 0"
          stroke="currentColor"
          strokeWidth="2"
          strokeDasharray="3 6"
          strokeLinecap="round"
        />
        <path
          d="M20 38a16 16 0 0 1 32 0"
          stroke="currentColor"
          strokeWidth="2"
          strokeLinecap="round"
        />
      </svg>
      {isPage ? (
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      ) : (
        <p className="font-medium">{title}</p>
      )}
      <div className="max-w-md text-sm text-pretty text-muted">{children}</div>
      {action}
    </div>
  )
}

const tones = {
  info: 'border-line bg-raised text-muted',
  ok: 'border-transparent bg-ok-soft text-ok',
  warn: 'border-transparent bg-warn-soft text-warn',
  bad: 'border-transparent bg-bad-soft text-bad',
}

/** A message in the page. Screen readers read a `bad` one at once, the others when they are idle. */
export function Notice({
  tone = 'info',
  title,
  action,
  children,
}: {
  tone?: keyof typeof tones
  title?: string
  action?: ReactNode
  children?: ReactNode
}) {
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={`arriving flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border px-4 py-3 text-sm ${tones[tone]}`}
    >
      <div className="min-w-0 flex-1 basis-64">
        {title !== undefined && <p className="font-medium text-pretty">{title}</p>}
        {children !== undefined && <div className="break-words text-pretty">{children}</div>}
      </div>
      {action}
    </div>
  )
}

/** Says what failed and why; nothing where nothing did. */
export function Failure({ title, of: error }: { title?: string; of: { message: string } | null }) {
  if (error === null) return null
  return (
    <Notice tone="bad" {...(title !== undefined && { title })}>
      {error.message}
    </Notice>
  )
}

const levels = {
  bad: ['Problem', 'bg-bad-soft text-bad', 'warning'],
  warn: ['Worth knowing', 'bg-warn-soft text-warn', 'warning'],
  info: ['Minor', 'bg-sunken text-muted', 'check'],
  ok: [undefined, 'bg-ok-soft text-ok', 'check'],
} as const

/** A finding on one line, which says in a word how much it matters. */
export function Note({
  level,
  action,
  children,
}: {
  level: keyof typeof levels
  action?: ReactNode
  children: ReactNode
}) {
  const [word, look, icon] = levels[level]
  return (
    <div className={`flex flex-wrap items-center gap-3 rounded-lg px-3 py-2 text-sm ${look}`}>
      <span className="flex min-w-0 flex-1 basis-64 gap-2">
        <span className="mt-0.5">
          <Icon name={icon} />
        </span>
        <span className="min-w-0 break-words text-pretty">
          {word !== undefined && <strong className="font-medium">{word}. </strong>}
          {children}
        </span>
      </span>
      {action}
    </div>
  )
}
