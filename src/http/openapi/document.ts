import type { z } from 'zod'
import type { RouteFamily, RouteLimit } from '../route-config.js'
import { SESSION_COOKIE } from '../session-cookie.js'
import { createJsonSchemas, type JsonSchemas } from './json-schemas.js'
import { type Operation, type Tag, tags } from './operation.js'
import { writeResponses } from './responses.js'

/** A route as Fastify knows it, with what it says of itself. */
export interface DescribedRoute {
  method: string
  /** With `:name` for what varies. */
  url: string
  family?: RouteFamily
  limit?: RouteLimit
  operation: Operation
}

export interface DocumentInfo {
  version: string
  /** Public addresses of this service. */
  servers: readonly string[]
}

/** A document of OpenAPI 3.1, as far as it is read again here. */
export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  tags: { name: Tag; description: string }[]
  paths: Record<string, Record<string, WrittenOperation>>
  components: { schemas: Record<string, Record<string, unknown>> }
}

export interface WrittenOperation {
  operationId: string
  tags: Tag[]
  summary: string
  description?: string
  parameters: WrittenParameter[]
  requestBody?: { required: boolean; content: Record<string, MediaType> }
  responses: Record<string, WrittenResponse>
}

export interface WrittenParameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Record<string, unknown>
  examples?: Record<string, WrittenExample>
}

export interface WrittenResponse {
  description: string
  headers: Record<string, { description: string }>
  content?: Record<string, MediaType>
}

interface MediaType {
  schema: Record<string, unknown>
  examples?: Record<string, WrittenExample>
}

interface WrittenExample {
  summary: string
  value: unknown
}

const about = `Arcus verifies signed stablecoin payments for paid HTTP APIs (x402 version 2) and puts them on chain, and lists the APIs that are paid through it.

No account and no API key are needed: a payment is authorized by its payer's EIP-3009 signature, a listing by its owner's EIP-712 signature. Reading a listing's private figures takes a session, opened by signing in with the wallet.

A payment that fails a check is a 200 with \`isValid\` or \`success\` false and a code. Other errors are \`{ error, message }\`. Any path may also be answered 404 \`not_found\`, 405 \`method_not_allowed\` with \`Allow\`, 408 \`request_timeout\` or 431 \`headers_too_large\`.

Amounts are decimal strings of 6-decimal units unless their name says \`usd\`. Every GET answers HEAD too.`

/** Writes the description of the service from what its routes say of themselves. */
export function writeDocument(
  routes: readonly DescribedRoute[],
  { version, servers }: DocumentInfo,
): OpenApiDocument {
  const schemas = createJsonSchemas()
  const paths: OpenApiDocument['paths'] = {}
  for (const route of [...routes].sort(byTag)) {
    const path = route.url.replace(/:([A-Za-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: writeOperation(route, schemas) }
  }
  const document = {
    openapi: '3.1.0' as const,
    info: {
      title: 'Arcus',
      version,
      summary: 'x402 facilitator, discovery and merchant directory',
      description: about,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [...new Set(servers)].map((url) => ({ url })),
    tags: Object.entries(tags).map(([name, description]) => ({ name: name as Tag, description })),
    paths,
    components: {
      schemas: schemas.components(),
      securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE } },
    },
  }
  return document
}

function byTag(a: DescribedRoute, b: DescribedRoute): number {
  const order = Object.keys(tags)
  return order.indexOf(a.operation.tag) - order.indexOf(b.operation.tag)
}

function writeOperation(route: DescribedRoute, schemas: JsonSchemas): WrittenOperation {
  const { operation, family = 'plain', limit = 'counted' } = route
  const { id, tag, summary, description, body, isBodyOptional = false, needsSession } = operation
  const facts = { family, limit, hasBody: body !== undefined }
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(needsSession ? { security: [{ session: [] }] } : {}),
    parameters: [
      ...writeParameters('path', operation, schemas),
      ...writeParameters('query', operation, schemas),
      ...writeParameters('header', operation, schemas),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !isBodyOptional,
            content: {
              'application/json': { schema: schemas.write(body), ...bodyExamples(operation) },
            },
          },
        }),
    responses: writeResponses(operation, facts, schemas),
  }
}

const fields = { path: 'params', query: 'query', header: 'headers' } as const

function writeParameters(
  place: keyof typeof fields,
  operation: Operation,
  schemas: JsonSchemas,
): WrittenParameter[] {
  const shape: Record<string, z.ZodType> = operation[fields[place]]?.shape ?? {}
  return Object.entries(shape).map(([name, field]) => {
    const { description, ...schema } = schemas.write(field)
    return {
      name,
      in: place,
      required: place === 'path' || !field.safeParse(undefined).success,
      ...(typeof description === 'string' ? { description } : {}),
      schema,
      ...parameterExamples(place, name, operation),
    }
  })
}

function parameterExamples(place: keyof typeof fields, name: string, operation: Operation) {
  if (place === 'header') return {}
  const given = Object.entries(operation.examples ?? {}).flatMap(([title, example]) => {
    const value = example[place === 'path' ? 'params' : 'query']?.[name]
    return value === undefined ? [] : [[title, { summary: example.summary, value }]]
  })
  return given.length === 0 ? {} : { examples: Object.fromEntries(given) }
}

function bodyExamples({ examples = {} }: Operation) {
  const given = Object.entries(examples).filter(([, { body }]) => body !== undefined)
  if (given.length === 0) return {}
  const written = given.map(([name, { summary, body }]) => [name, { summary, value: body }])
  return { examples: Object.fromEntries(written) }
}
