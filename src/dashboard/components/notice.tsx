import type { ReactNode } from 'react'

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
