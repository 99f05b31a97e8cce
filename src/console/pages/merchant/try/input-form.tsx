import { Field, TextArea, TextField } from '../../../components/field.js'
import { Select } from '../../../components/select.js'
import { oneLine } from '../../../format/untrusted-text.js'
import { type FormField, keyOf, type Typed } from './form.js'

const booleans = [
  ['', '–'],
  ['true', 'true'],
  ['false', 'false'],
] as const

/** Shows a control for each parameter of a call. Names and hints are texts of a stranger. */
export function InputForm({
  fields,
  typed,
  faults,
  onType,
}: {
  fields: readonly FormField[]
  typed: Typed
  faults: Record<string, string>
  onType: (key: string, text: string) => void
}) {
  return (
    <div className="grid gap-4 @md:grid-cols-2">
      {fields.map((field) => {
        const key = keyOf(field)
        return (
          <Control
            key={key}
            field={field}
            value={typed[key] ?? ''}
            error={faults[key]}
            onChange={(text) => onType(key, text)}
          />
        )
      })}
    </div>
  )
}

function Control({
  field,
  value,
  error,
  onChange,
}: {
  field: FormField
  value: string
  error: string | undefined
  onChange: (text: string) => void
}) {
  const { kind, name, part, isRequired, options } = field
  const description =
    part === 'pathParams' ? 'Part of the address' : oneLine(field.description, 200)
  const texts = {
    label: `${oneLine(name, 60) || 'body'}${isRequired ? ' *' : ''}`,
    ...(description === '' ? {} : { hint: <bdi>{description}</bdi> }),
    error,
  }
  if (kind === 'json' || (kind === 'text' && name === '')) {
    return (
      <div className="@md:col-span-2">
        <TextArea {...texts} value={value} onChange={onChange} rows={4} isCode />
      </div>
    )
  }
  if (kind === 'boolean' || kind === 'choice') {
    const choices =
      kind === 'boolean'
        ? booleans
        : ([['', '–'], ...options.map((it) => [it, oneLine(it, 60)] as const)] as const)
    return (
      <Field {...texts}>
        {(control) => <Select {...control} value={value} options={choices} onChange={onChange} />}
      </Field>
    )
  }
  return (
    <TextField
      {...texts}
      value={value}
      onChange={onChange}
      maxLength={8_192}
      {...(kind === 'text' ? {} : { inputMode: 'decimal' as const })}
    />
  )
}
