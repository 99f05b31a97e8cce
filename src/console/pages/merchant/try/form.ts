import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { TryInput } from '@arcus/protocol/answers/try'
import { isBodyMethod, isOpenHeader, parseJson, placesIn } from '@arcus/protocol/x402/calls'
import { isObject } from '@arcus/protocol/x402/json'

/*
 * The form of a call, made from the schema and the example of a listing. Both are texts of a stranger.
 */

/** The parts of a call, as the service takes them. */
type CallPart = 'pathParams' | 'queryParams' | 'body' | 'headers'

export interface FormField {
  part: CallPart
  /** Empty for a body that is one value. */
  name: string
  /** `text`, `number` and `choice` have their own control, `json` takes any value. */
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  isRequired: boolean
  description: string
  /** The values of a choice. */
  options: readonly string[]
  /** The value of the example, as it is typed. */
  initial: string
}

/** The typed texts, by `keyOf`. */
export type Typed = Record<string, string>

type TriedEndpoint = Pick<MerchantEndpoint, 'url' | 'method' | 'example' | 'inputSchema'>

/** More fields than these are edited as JSON. */
const MAX_FIELDS = 24
const MAX_OPTIONS = 64
const MAX_BYTES = 64 * 1024

export function keyOf({ part, name }: Pick<FormField, 'part' | 'name'>): string {
  return `${part}.${name}`
}

/** Returns the fields of a call; `undefined` where a form would be too long. */
export function fieldsOf({
  url,
  method,
  example,
  inputSchema,
}: TriedEndpoint): FormField[] | undefined {
  const main = isBodyMethod(method) ? 'body' : 'queryParams'
  const given = main === 'body' ? example.body : example[main]
  const isWhole =
    main === 'body' && (example.bodyType === 'text' || (given !== undefined && !isObject(given)))
  const fields: FormField[] = [
    ...placesIn(url).map((name) =>
      aField('pathParams', name, example.pathParams?.[name] ?? '', { isRequired: true }),
    ),
    ...(isWhole
      ? [aField('body', '', given, { kind: example.bodyType === 'text' ? 'text' : 'json' })]
      : parametersOf(main, isObject(given) ? given : {}, inputSchema)),
    ...(main === 'body' ? parametersOf('queryParams', example.queryParams ?? {}, null) : []),
    ...Object.entries(openHeadersOf(example)).map(([name, value]) =>
      aField('headers', name, value),
    ),
  ]
  return fields.length > MAX_FIELDS ? undefined : fields
}

/** Returns a field for each parameter that the schema or the example names, those of the schema first. */
function parametersOf(
  part: CallPart,
  example: Record<string, unknown>,
  schema: Record<string, unknown> | null,
): FormField[] {
  const properties = isObject(schema?.properties) ? schema.properties : {}
  const required = Array.isArray(schema?.required) ? schema.required : []
  const names = [...new Set([...Object.keys(properties), ...Object.keys(example)])]
  return names.map((name) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    const value = Object.hasOwn(example, name) ? example[name] : undefined
    return aField(part, name, value, {
      ...(isObject(own) ? ruleOf(own) : {}),
      isRequired: required.includes(name),
    })
  })
}

function aField(
  part: CallPart,
  name: string,
  value: unknown,
  known: Partial<FormField> = {},
): FormField {
  const kind = known.kind ?? kindOf(value)
  const initial =
    value === undefined || value === null
      ? ''
      : typeof value === 'string' && kind !== 'json'
        ? value
        : JSON.stringify(value)
  const field = { isRequired: false, description: '', options: [], ...known }
  return { part, name, kind, initial, ...field }
}

function kindOf(value: unknown): FormField['kind'] {
  if (value === undefined || typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  return typeof value === 'boolean' ? 'boolean' : 'json'
}

/** Reads the rule of one parameter. What is neither a plain type nor a choice of texts is typed as JSON. */
function ruleOf(schema: Record<string, unknown>): Partial<FormField> {
  const { type, description, enum: choices } = schema
  const text = typeof description === 'string' ? { description } : {}
  if (Array.isArray(choices)) {
    const options = choices.filter((choice) => typeof choice === 'string')
    const isChoice = options.length === choices.length && options.length <= MAX_OPTIONS
    return { ...text, ...(isChoice ? { kind: 'choice', options } : { kind: 'json' }) }
  }
  const kinds = {
    string: 'text',
    number: 'number',
    integer: 'integer',
    boolean: 'boolean',
  } as const
  const isPlain = typeof type === 'string' && Object.hasOwn(kinds, type)
  return { ...text, kind: isPlain ? kinds[type as keyof typeof kinds] : 'json' }
}

export type Filled =
  | { ok: true; input: TryInput }
  /** By `keyOf`; `json` for the call as a whole. */
  | { ok: false; faults: Record<string, string> }

/** Reads what was typed into the form. A parameter that is left empty is left out. */
export function readForm(fields: readonly FormField[], typed: Typed): Filled {
  const faults: Record<string, string> = {}
  const input: Record<string, unknown> = {}
  for (const field of fields) {
    const text = typed[keyOf(field)] ?? ''
    if (text.trim() === '') {
      if (field.isRequired) faults[keyOf(field)] = 'Needed.'
      continue
    }
    const read = readValue(field, text)
    if (read.fault !== undefined) faults[keyOf(field)] = read.fault
    else if (field.name === '') input[field.part] = read.value
    else {
      input[field.part] ??= Object.create(null)
      // A name such as `__proto__` becomes a member like any other.
      const members = input[field.part] as Record<string, unknown>
      members[field.name] = read.value
    }
  }
  return Object.keys(faults).length > 0 ? { ok: false, faults } : bounded(input as TryInput)
}

function readValue({ kind }: FormField, text: string): { value?: unknown; fault?: string } {
  if (kind === 'text' || kind === 'choice') return { value: text }
  if (kind === 'boolean') return { value: text === 'true' }
  if (kind === 'json') {
    const value = parseJson(text)
    return value === undefined ? { fault: 'This is no JSON.' } : { value }
  }
  const value = Number(text.trim().replace(/^(-?\d+),(\d+)$/, '$1.$2'))
  if (!Number.isFinite(value)) return { fault: 'Write a number.' }
  return kind === 'integer' && !Number.isInteger(value)
    ? { fault: 'Write a whole number.' }
    : { value }
}

const parts: readonly string[] = ['pathParams', 'queryParams', 'body', 'headers']

/** Reads a call that was typed as one JSON object of its parts. */
export function readJson(text: string): Filled {
  const value = parseJson(text)
  if (value === undefined) return { ok: false, faults: { json: 'This is no JSON.' } }
  const isSound =
    isObject(value) &&
    Object.entries(value).every(
      ([part, it]) => parts.includes(part) && (part === 'body' || isObject(it)),
    )
  return isSound
    ? bounded(value as TryInput)
    : { ok: false, faults: { json: 'Write an object in braces: { }.' } }
}

/** Returns the example as the JSON of a call. */
export function exampleJson({ example }: TriedEndpoint): string {
  const { queryParams, body } = example
  return JSON.stringify({ queryParams, body, headers: openHeadersOf(example) }, null, 2)
}

/** Returns the headers of an example that Arcus sends. */
function openHeadersOf({ headers = {} }: TriedEndpoint['example']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isOpenHeader(name)))
}

function bounded(input: TryInput): Filled {
  const bytes = new TextEncoder().encode(JSON.stringify(input)).length
  return bytes > MAX_BYTES
    ? { ok: false, faults: { json: 'The call is longer than 64 KiB.' } }
    : { ok: true, input }
}
