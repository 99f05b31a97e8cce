import type { ComponentProps } from 'react'
import { Icon } from './icons.js'

export const inputStyle =
  'h-10 w-full rounded-lg border border-line-strong bg-raised px-3 text-sm transition-colors hover:border-faint aria-invalid:border-bad disabled:opacity-60'

export type SelectOptions<Key extends string> = readonly (readonly [key: Key, name: string])[]

const selectStyles = {
  field: inputStyle,
  /** The caller gives the whole style. */
  pill: 'pr-8',
  small: 'h-8 max-w-56 rounded-lg border border-line-strong bg-raised px-2.5 pr-7 text-xs',
}

interface SelectProps<Key extends string> {
  value: Key
  options: SelectOptions<Key>
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

/** A line to search in, with a glass before it. */
export function SearchInput({
  onChange,
  ...input
}: Omit<ComponentProps<'input'>, 'onChange'> & { onChange: (text: string) => void }) {
  return (
    <>
      <span className="pointer-events-none absolute inset-y-0 left-3 flex items-center text-faint">
        <Icon name="search" />
      </span>
      <input
        type="search"
        {...input}
        onChange={({ target }) => onChange(target.value)}
        className={`${inputStyle} pr-10 pl-9`}
      />
    </>
  )
}
