import { schemaKeywords } from '../../x402/json-schema.js'
import { isObject, memberOf } from '../../x402/json-walk.js'

/**
 * The schema of the parameters inside the schema of `info`; `null` when there is none that can stand alone. References
 * lead from the root of the document, so those into `$defs` keep their definitions, and others lose the schema.
 */
export function readInputSchema(
  schema: Record<string, unknown>,
  method: 'GET' | 'POST',
): Record<string, unknown> | null {
  const input = memberOf(memberOf(schema, 'properties'), 'input')
  const part = memberOf(memberOf(input, 'properties'), method === 'POST' ? 'body' : 'queryParams')
  if (!isObject(part)) return null
  const { type = 'object' } = part
  if (type !== 'object') return null
  const alone = { ...part, type }
  const definitions = memberOf(schema, '$defs')
  const targets = referencesOf([part, { $defs: definitions }])
  if (targets.length === 0) return isDescriptive(alone) ? alone : null
  if (!isObject(definitions) || Object.hasOwn(part, '$defs')) return null
  if (!targets.every((target) => target.startsWith('#/$defs/'))) return null
  return { ...alone, $defs: definitions }
}

/** `{type: 'object'}` alone says nothing of the parameters. */
function isDescriptive(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).some((key) => key !== 'type')
}

/** Keywords that point at a place of the document, or name one. */
const pointing = /^\$(ref|id|anchor|dynamicRef|dynamicAnchor|recursiveRef)$/

function referencesOf(schemas: unknown[]): string[] {
  return [...schemaKeywords(schemas)].flatMap(([keyword, value]) =>
    pointing.test(keyword) && typeof value === 'string' ? [value] : [],
  )
}
