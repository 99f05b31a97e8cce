import { escapeHtml } from './page-text.js'

type Schema = Record<string, unknown>

/** Members of a schema that are shown as a line of their own. */
const plain = ['format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'default']
/** Lists of codes are told in the description of their answer. */
const MAX_SHOWN_VALUES = 8

/** A JSON Schema as nested lists: what it is, what it must be, and its members. */
export function renderSchema(schema: Schema): string {
  const members = membersOf(schema)
  const nested = members.length === 0 ? '' : `<ul class="schema">${members.join('')}</ul>`
  const words = typeof schema.description === 'string' ? ` ${escapeHtml(schema.description)}` : ''
  return `<div>${typeOf(schema)}${rulesOf(schema)}${words}</div>${nested}`
}

function membersOf(schema: Schema): string[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const items =
    schema.items === undefined ? [] : [`<li>${renderSchema(schema.items as Schema)}</li>`]
  const choices = ((schema.anyOf ?? schema.oneOf ?? []) as Schema[])
    .filter(({ type }) => type !== 'null')
    .map((choice) => `<li>${renderSchema(choice)}</li>`)
  const rest = schema.additionalProperties
  const others =
    typeof rest === 'object' && rest !== null && Object.keys(rest).length > 0
      ? [`<li><span class="quiet">any name</span> ${renderSchema(rest as Schema)}</li>`]
      : []
  const named = properties.map(
    ([name, member]) =>
      `<li><code>${escapeHtml(name)}</code>${required.includes(name) ? '' : ' <span class="quiet">optional</span>'} ${renderSchema(member)}</li>`,
  )
  return [...named, ...others, ...items, ...choices]
}

function typeOf(schema: Schema): string {
  const { $ref, type, anyOf, oneOf, enum: values } = schema
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? ''
    return `<a href="#schema-${name}">${escapeHtml(name)}</a>`
  }
  if ('const' in schema) return `<code>${escapeHtml(JSON.stringify(schema.const))}</code>`
  if (Array.isArray(values)) {
    const shown = values.slice(0, MAX_SHOWN_VALUES).map((value) => JSON.stringify(value))
    const rest = values.length > shown.length ? ` and ${values.length - shown.length} more` : ''
    return `one of <code>${escapeHtml(shown.join(', '))}</code>${rest}`
  }
  const choices = (anyOf ?? oneOf) as Schema[] | undefined
  if (choices !== undefined) {
    const isNullable = choices.some((choice) => choice.type === 'null')
    return isNullable ? 'or null:' : 'one of:'
  }
  return typeof type === 'string' ? type : 'anything'
}

function rulesOf(schema: Schema): string {
  const rules = plain
    .filter((name) => schema[name] !== undefined)
    .map((name) => `${name} <code>${escapeHtml(String(schema[name]))}</code>`)
  return rules.length === 0 ? '' : ` <span class="quiet">${rules.join(', ')}</span>`
}
