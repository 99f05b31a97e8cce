import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

export interface JsonSchemas {
  /** The schema as JSON Schema 2020-12 of what is written; named parts become references. */
  write(schema: z.ZodType): JsonSchema
  /** The named parts met so far, by name. */
  components(): Record<string, JsonSchema>
}

/** Where OpenAPI keeps schemas that have a name. */
const HOME = '#/components/schemas/'

/**
 * Turns zod schemas into JSON Schema. A schema with `id` in its metadata is written once and referred to; metadata
 * `wire` stands for the whole schema, where the text of a query means a number.
 */
export function createJsonSchemas(): JsonSchemas {
  const components = new Map<string, JsonSchema>()
  return {
    write(schema) {
      const {
        $schema: _,
        $defs = {},
        ...written
      } = z.toJSONSchema(schema, {
        io: 'input',
        unrepresentable: 'any',
        override: ({ jsonSchema }) => replaceByWire(jsonSchema),
      })
      for (const [name, part] of Object.entries($defs)) {
        components.set(name, rehome(part) as JsonSchema)
      }
      return rehome(written) as JsonSchema
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function replaceByWire(written: JsonSchema): void {
  const { wire, description } = written
  if (typeof wire !== 'object' || wire === null) return
  for (const key of Object.keys(written)) delete written[key]
  Object.assign(written, wire, description === undefined ? {} : { description })
}

/** References of a lone schema lead into its `$defs`; here they lead into the document. */
function rehome(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rehome)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, it]) => [
      key,
      key === '$ref' && typeof it === 'string' ? it.replace('#/$defs/', HOME) : rehome(it),
    ]),
  )
}
