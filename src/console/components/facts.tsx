import type { ReactNode } from 'react'
import { duration } from '../format/amounts.js'
import { Hint } from './hint.js'

/** Shows the median of a duration, with the 95th percentile below. */
export function Latency({
  name,
  p50,
  p95,
}: {
  name: string
  p50: number | null
  p95: number | null
}) {
  return (
    <Stat
      name={name}
      value={duration(p50)}
      note={p95 === null ? undefined : `95% within ${duration(p95)}`}
    />
  )
}

/** A row of a list of facts: its name, and its value next to it. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 py-2.5">
      <dt className="w-40 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 flex-1 basis-48 break-words">{children}</dd>
    </div>
  )
}

/** A figure with its name above and a note below, which explains more of it when it is pressed. */
export function Stat({
  name,
  value,
  note,
  title,
  change,
}: {
  name: string
  value: ReactNode
  note?: ReactNode
  title?: string | undefined
  /** The figure now and in the period before, from which the change is shown. */
  change?: readonly [now: number, before: number] | undefined
}) {
  const explain = (it: ReactNode) => (title === undefined ? it : <Hint text={title}>{it}</Hint>)
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="mt-1 text-[1.75rem]/9 font-semibold tracking-tight tabular">
        {note === undefined ? explain(value) : value}
        {change !== undefined && <Change now={change[0]} before={change[1]} />}
      </dd>
      {note !== undefined && <dd className="mt-0.5 text-xs text-faint">{explain(note)}</dd>}
    </div>
  )
}

/** Shows by how many percent a figure differs from the period before; nothing where that had hardly any. */
function Change({ now, before }: { now: number; before: number }) {
  if (before === 0 || now > 10 * before) return null
  const by = Math.round((now / before - 1) * 100)
  const text = by === 0 ? '± 0 %' : by > 0 ? `+ ${by} %` : `− ${-by} %`
  return (
    <span
      className="ml-2 text-xs font-normal tracking-normal whitespace-nowrap text-faint"
      title="Against the period of the same length before. Today is not over."
    >
      {text}
    </span>
  )
}
