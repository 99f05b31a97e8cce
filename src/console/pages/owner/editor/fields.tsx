import type { ComponentProps } from 'react'
import { useController } from 'react-hook-form'
import { TextArea, TextField } from '../../../components/field.js'
import type { FormValues } from './form.js'

type TextName =
  | Exclude<keyof FormValues, 'endpoints'>
  | `endpoints.${number}.${'url' | 'toolName' | 'title' | 'description' | 'price' | 'tags' | 'example' | 'inputSchema'}`

interface Bound {
  name: TextName
  /** Runs after each change, with the text before it. */
  onTyped?: (text: string, before: string) => void
}

type Unbound<Props> = Omit<Props, 'name' | 'value' | 'error' | 'onChange'>

function useBound({ name, onTyped }: Bound) {
  const { field, fieldState } = useController<FormValues, TextName>({ name })
  return {
    ref: field.ref,
    value: field.value,
    error: fieldState.error?.message,
    onChange(text: string) {
      field.onChange(text)
      onTyped?.(text, field.value)
    },
  }
}

/** A line of text of the form. */
export function FormText({
  name,
  onTyped,
  ...texts
}: Bound & Unbound<ComponentProps<typeof TextField>>) {
  return <TextField {...texts} {...useBound({ name, ...(onTyped && { onTyped }) })} />
}

/** Several lines of text of the form. */
export function FormArea({
  name,
  onTyped,
  ...texts
}: Bound & Unbound<ComponentProps<typeof TextArea>>) {
  return <TextArea {...texts} {...useBound({ name, ...(onTyped && { onTyped }) })} />
}
