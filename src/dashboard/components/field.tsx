import { type ReactNode, useId } from 'react'

export const inputLook =
  'h-10 w-full rounded-lg border border-line-strong bg-raised px-3 text-sm transition-colors hover:border-faint aria-invalid:border-bad disabled:opacity-60'

export const areaLook =
  'w-full rounded-lg border border-line-strong bg-raised px-3 py-2 text-sm transition-colors hover:border-faint aria-invalid:border-bad'

export interface FieldProps {
  id: string
  'aria-invalid': boolean | undefined
  'aria-describedby': string | undefined
}

/** A control with its name, what helps, and what is wrong with it, tied together for screen readers. */
export function Field({
  label,
  hint,
  error,
  aside,
  children,
}: {
  label: string
  hint?: ReactNode
  error?: string | undefined
  aside?: ReactNode
  children: (field: FieldProps) => ReactNode
}) {
  const id = useId()
  const described = [
    hint === undefined ? '' : `${id}-hint`,
    error === undefined ? '' : `${id}-error`,
  ]
    .filter(Boolean)
    .join(' ')
  return (
    <div className="min-w-0">
      <div className="mb-1.5 flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {aside}
      </div>
      {children({
        id,
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': described || undefined,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="mt-1.5 text-xs text-pretty text-muted">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className="mt-1.5 text-xs text-pretty text-bad">
          {error}
        </p>
      )}
    </div>
  )
}
