import { isObject } from '@arcus/protocol/x402/json'

/**
 * Returns the JSON Schema of the answers that an endpoint declares in the `bazaar` extension of its 402: there it is the
 * schema of the example. `undefined` where it declares none.
 */
export function outputSchemaOf(
  extras: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const steps = ['extensions', 'bazaar', 'schema', 'properties', 'output', 'properties', 'example']
  let found: unknown = extras
  for (const step of steps) found = isObject(found) ? found[step] : undefined
  return isObject(found) ? found : undefined
}
