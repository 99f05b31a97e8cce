import { inputStyle } from './field.js'
import { words } from './words.js'

export type Options<Key extends string> = readonly (readonly [key: Key, name: string])[]

const selectStyles = {
  field: inputStyle,
  /** The caller gives the whole style. */
  pill: 'pr-8',
  small: 'h-8 max-w-56 rounded-lg border border-line-strong bg-raised px-2.5 pr-7 text-xs',
}

interface SelectProps<Key extends string> {
  value: Key
  options: Options<Key>
  onChange: (value: Key) => void
  variant?: keyof typeof selectStyles
  className?: string
  id?: string
  'aria-label'?: string
  'aria-invalid'?: boolean | undefined
  'aria-describedby'?: string | undefined
}

/** A list to choose one of. Inside a `Field` the field names it, elsewhere `aria-label` does. */
export function Select<Key extends string>(props: SelectProps<Key>) {
  const { options, onChange, variant = 'field', className = '', ...rest } = props
  return (
    <select
      {...rest}
      onChange={({ target }) => onChange(target.value as Key)}
      className={`${selectStyles[variant]} ${className}`}
    >
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
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
  options: Options<Key>
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
  ['24h', words.ranges['24h']],
  ['7d', words.ranges['7d']],
  ['30d', words.ranges['30d']],
  ['all', words.ranges.all],
] as const satisfies Options<string>
