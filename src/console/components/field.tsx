import { type ComponentProps, type ReactNode, type Ref, useId } from 'react'
import { inputStyle, type SelectOptions } from './select.js'

const areaStyle =
  'w-full rounded-lg border border-line-strong bg-raised px-3 py-2 text-sm transition-colors hover:border-faint aria-invalid:border-bad'

interface FieldTexts {
  label: string
  hint?: ReactNode
  error?: string | undefined
  aside?: ReactNode
  /** Classes that place the field in a grid. */
  place?: string | undefined
}

/** Ties a control to its name, its hint and its error, for screen readers too. */
export function Field({
  label,
  hint,
  error,
  aside,
  place = '',
  children,
}: FieldTexts & {
  children: (field: {
    id: string
    'aria-invalid': boolean | undefined
    'aria-describedby': string | undefined
  }) => ReactNode
}) {
  const id = useId()
  const described = [
    hint === undefined ? '' : `${id}-hint`,
    error === undefined ? '' : `${id}-error`,
  ]
    .filter(Boolean)
    .join(' ')
  return (
    <div className={`min-w-0 ${place}`}>
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

interface TextFieldProps extends FieldTexts, Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  value: string
  onChange: (value: string) => void
  /** Addresses, ids and code: fixed width, no spelling, no completion. */
  isCode?: boolean
  /** Buttons and the like on the same line. */
  beside?: ReactNode
}

/** A line of text with its name. */
export function TextField(props: TextFieldProps) {
  const {
    label,
    hint,
    error,
    aside,
    place,
    beside,
    isCode,
    onChange,
    className = '',
    ...input
  } = props
  return (
    <Field label={label} hint={hint} error={error} aside={aside} place={place}>
      {(field) => (
        <div className="flex flex-wrap gap-2">
          <input
            {...(isCode === true ? { spellCheck: false, autoComplete: 'off' } : {})}
            {...input}
            {...field}
            onChange={({ target }) => onChange(target.value)}
            className={`${inputStyle} min-w-0 flex-1 ${isCode === true ? 'font-mono' : ''} ${className}`}
          />
          {beside}
        </div>
      )}
    </Field>
  )
}

interface TextAreaProps extends Omit<FieldTexts, 'aside'> {
  ref?: Ref<HTMLTextAreaElement>
  value: string
  onChange: (value: string) => void
  rows: number
  isCode?: boolean
}

/** Several lines of text with their name. */
export function TextArea({ ref, value, onChange, rows, isCode = false, ...texts }: TextAreaProps) {
  return (
    <Field {...texts}>
      {(field) => (
        <textarea
          {...(isCode ? { spellCheck: false, placeholder: '{ }' } : {})}
          {...field}
          {...(ref !== undefined && { ref })}
          value={value}
          onChange={({ target }) => onChange(target.value)}
          rows={rows}
          className={`${areaStyle} ${isCode ? 'font-mono text-xs' : ''}`}
        />
      )}
    </Field>
  )
}

/** A few choices side by side, one of them pressed. */
export function Segmented<Key extends string>({
  legend,
  value,
  options,
  onChange,
}: {
  legend: string
  value: Key
  options: SelectOptions<Key>
  onChange: (value: Key) => void
}) {
  return (
    <fieldset className="inline-flex rounded-lg bg-sunken p-0.5">
      <legend className="sr-only">{legend}</legend>
      {options.map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === value}
          onClick={() => onChange(key)}
          className="h-7 rounded-md px-2.5 text-xs font-medium text-muted hover:text-ink aria-pressed:bg-raised aria-pressed:text-ink aria-pressed:shadow-card"
        >
          {name}
        </button>
      ))}
    </fieldset>
  )
}

export const ranges = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['all', 'All'],
] as const satisfies SelectOptions<string>
