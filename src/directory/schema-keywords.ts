/** Keywords of JSON Schema 2020-12 whose value holds schemas by names that an author chooses. */
export const schemasByName: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** Keywords whose value is data, whatever it looks like. */
export const dataKeywords: ReadonlySet<string> = new Set([
  'const',
  'enum',
  'default',
  'example',
  'examples',
  'required',
  'dependentRequired',
])
