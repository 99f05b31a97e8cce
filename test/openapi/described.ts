import { Ajv2020 } from 'ajv/dist/2020.js'
import type { OpenApiDocument, WrittenOperation, WrittenResponse } from '../../src/http/openapi.js'

export interface DescribedOperation {
  method: string
  path: string
  operation: WrittenOperation
}

/** Every operation of the document, in its order. */
export function operationsOf({ paths }: OpenApiDocument): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
}

/** The parts of an answer that a description covers. */
export interface Given {
  statusCode: number
  headers: Record<string, unknown>
  body: string
}

/** Checks answers by the description alone. Members it does not name count as wrong, though clients must allow them. */
export function createAnswerCheck(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  ajv.addSchema(closed({ ...document, $id: 'arcus' }) as object)
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>()

  function problemOfValue(schema: object, value: unknown): string | undefined {
    const key = JSON.stringify(schema)
    const check =
      compiled.get(key) ??
      ajv.compile(JSON.parse(key.replaceAll('"#/components', '"arcus#/components')))
    compiled.set(key, check)
    return check(value) ? undefined : ajv.errorsText(check.errors)
  }

  /** Returns the fault of an answer; `undefined` if it is as described. */
  function problemOf({ operation }: DescribedOperation, given: Given): string | undefined {
    const response: WrittenResponse | undefined = operation.responses[String(given.statusCode)]
    if (response === undefined) return `status ${given.statusCode} is not described: ${given.body}`
    const [[type, media] = []] = Object.entries(response.content ?? {})
    if (type === undefined || media === undefined) {
      return given.body === '' ? undefined : `a body was not described: ${given.body}`
    }
    if (!String(given.headers['content-type']).startsWith(type)) {
      return `content type ${given.headers['content-type']} instead of ${type}`
    }
    if (type !== 'application/json') return undefined
    const problem = problemOfValue(closed(media.schema) as object, JSON.parse(given.body))
    return problem && `${problem} in ${given.statusCode} ${given.body}`
  }

  return {
    problemOf,
    problemOfValue: (schema: object, value: unknown) =>
      problemOfValue(closed(schema) as object, value),
  }
}

/** Returns the schemas with every object closed that names its members. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.fromEntries(Object.entries(value).map(([key, it]) => [key, closed(it)]))
  const isOpen = members.type === 'object' && 'properties' in members
  return isOpen && !('additionalProperties' in members)
    ? { ...members, additionalProperties: false }
    : members
}
