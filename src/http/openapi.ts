import {
  type DescribedCode,
  describeCodes,
  errorSchema,
  httpCodes,
} from '@arcus/protocol/answers/errors'
import { type RouteForms, routes as routeForms } from '@arcus/protocol/answers/routes'
import { sessionCookies } from '@arcus/protocol/answers/session-cookies'
import { reasons } from '@arcus/protocol/x402/reasons'
import { z } from 'zod'
import writtenExamples from './examples.json' with { type: 'json' }
import { type DescribedRoute, type Tag, tags } from './operation.js'
import { version } from './version.js'

/*
 * Writes the OpenAPI document from the operations of the routes. `@fastify/swagger` is not used: it passes JSON Schema
 * through a draft-07 resolver that drops descriptions next to a `$ref`, and it calls every request body required.
 */

/** The parts of an OpenAPI 3.1 document that the page and the tests read. */
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
  description?: string | undefined
  security?: object[] | undefined
  parameters: WrittenParameter[]
  requestBody?: { required: boolean; content: Record<string, MediaType> } | undefined
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
  /** The request that is refused with this answer, where it is not of the form that the document describes. */
  'x-request'?: { [Part in 'params' | 'query' | 'body']: Example[Part] }
}

const about = `Arcus verifies signed stablecoin payments for paid HTTP APIs (x402 version 2) and puts them on chain, and lists the APIs that are paid through it.

No account and no API key are needed: a payment is authorized by its payer's EIP-3009 signature, a listing by its owner's EIP-712 signature. Reading a listing's private figures takes a session, opened by signing in with the wallet.

A payment that fails a check is a 200 with \`isValid\` or \`success\` false and a code. Other errors are \`{ error, message }\`. Any path may also be answered 404 \`not_found\`, 405 \`method_not_allowed\` with \`Allow\`, 408 \`request_timeout\` or 431 \`headers_too_large\`.

Amounts are decimal strings of atomic units (6 decimals) unless their name says \`usd\`. Every GET answers HEAD too.`

/** A request as a client would send it, and what a fresh devnet answers. */
interface Example {
  summary: string
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: unknown
  status: number
  /** Left out if the answer is not JSON, differs each time, or would only repeat another one. */
  answer?: unknown
}

/** By name. */
type Examples = Readonly<Record<string, Example>>

/** By the id of the operation. A test sends each of them, and writes the answers into the file. */
const examples: Readonly<Record<string, Examples>> = writtenExamples

/** Writes the description of the service from the operations of its routes. */
export function writeDocument(
  routes: readonly DescribedRoute[],
  servers: readonly string[],
): OpenApiDocument {
  const schemas = createJsonSchemas()
  const paths: OpenApiDocument['paths'] = {}
  for (const { method, url, ...rest } of [...routes].sort(byTag)) {
    const path = url.replace(/:([A-Za-z]+)/g, '{$1}')
    const forms = formsOf(`${method} ${path}`)
    const route = { ...rest, forms, examples: examples[rest.operation.id] ?? {} }
    paths[path] = { ...paths[path], [method.toLowerCase()]: writeOperation(route, schemas) }
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
    // Unless an operation says otherwise, anybody may call.
    security: [],
    tags: Object.entries(tags).map(([name, description]) => ({ name: name as Tag, description })),
    paths,
    components: {
      schemas: schemas.components(),
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookies(servers.at(-1) ?? '').session,
        },
      },
    },
  }
  return document
}

function byTag(a: DescribedRoute, b: DescribedRoute): number {
  const order = Object.keys(tags)
  return order.indexOf(a.operation.tag) - order.indexOf(b.operation.tag)
}

interface FormedRoute extends Pick<DescribedRoute, 'family' | 'limit' | 'operation'> {
  forms: RouteForms
  examples: Examples
}

/** Throws for a route that is not in the table. */
function formsOf(route: string): RouteForms {
  const forms = (routeForms as Readonly<Record<string, RouteForms>>)[route]
  if (forms === undefined) throw new Error(`${route} is not in the table of routes`)
  return forms
}

function writeOperation(route: FormedRoute, schemas: JsonSchemas): WrittenOperation {
  const { operation, forms, examples } = route
  const { id, tag, summary, description, needsSession } = operation
  const { body } = forms
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: needsSession ? [{ session: [] }] : undefined,
    parameters: [
      ...writeParameters('path', forms.params, examples, schemas),
      ...writeParameters('query', forms.query, examples, schemas),
      ...writeParameters('header', forms.headers, examples, schemas),
    ],
    requestBody: body && {
      required: isRequired(body),
      content: { 'application/json': { schema: schemas.write(body), ...bodyExamples(examples) } },
    },
    responses: writeResponses(route, schemas),
  }
}

function isRequired(schema: z.ZodType): boolean {
  return !schema.safeParse(undefined).success
}

function writeParameters(
  place: WrittenParameter['in'],
  fields: z.ZodObject | undefined,
  examples: Examples,
  schemas: JsonSchemas,
): WrittenParameter[] {
  const shape: Record<string, z.ZodType> = fields?.shape ?? {}
  return Object.entries(shape).map(([name, field]) => {
    const { description, ...schema } = schemas.write(field)
    return {
      name,
      in: place,
      required: place === 'path' || isRequired(field),
      ...(typeof description === 'string' ? { description } : {}),
      schema,
      ...parameterExamples(place, name, schema.type, examples),
    }
  })
}

/** Returns whether a request is refused for its form. The document shows it next to the refusal. */
function isMalformed({ status }: Example): boolean {
  return status === 400
}

function parameterExamples(
  place: WrittenParameter['in'],
  name: string,
  type: unknown,
  examples: Examples,
) {
  if (place === 'header') return {}
  return writeExamples(examples, (example) => {
    const text = example[place === 'path' ? 'params' : 'query']?.[name]
    if (text === undefined || isMalformed(example)) return undefined
    return { value: type === 'integer' || type === 'boolean' ? JSON.parse(text) : text }
  })
}

function bodyExamples(examples: Examples) {
  return writeExamples(examples, (example) =>
    example.body === undefined || isMalformed(example) ? undefined : { value: example.body },
  )
}

/** Writes the examples that a part has, each under its name with its summary. */
function writeExamples(
  examples: Examples,
  read: (example: Example) => Omit<WrittenExample, 'summary'> | undefined,
): { examples?: Record<string, WrittenExample> } {
  const written = Object.entries(examples).flatMap(([name, example]) => {
    const shown = read(example)
    return shown === undefined ? [] : [[name, { summary: example.summary, ...shown }] as const]
  })
  return written.length === 0 ? {} : { examples: Object.fromEntries(written) }
}

const RETRY_AFTER = { 'Retry-After': 'Seconds until it is worth trying again.' }

/** Writes every answer of a route by status: its own, its refusals, and the refusals of its family. */
function writeResponses(route: FormedRoute, schemas: JsonSchemas): Record<string, WrittenResponse> {
  const { operation, forms, family, examples } = route
  const { answer } = forms
  const answers = new Map(
    Object.entries(operation.answers).map(([status, it]) => [
      Number(status),
      typeof it === 'string' ? { description: it, headers: {} } : it,
    ]),
  )
  const responses = new Map<number, WrittenResponse>()
  for (const [status, { description, headers }] of answers) {
    const shown = answerExamples(examples, status)
    const isText = typeof answer === 'string'
    const hasBody = answer !== undefined && status !== 304
    responses.set(status, {
      description,
      headers: writeHeaders(headers),
      ...(hasBody && {
        content: {
          [isText ? answer : 'application/json']: {
            schema: isText ? { type: 'string' } : schemas.write(answer),
            ...shown,
          },
        },
      }),
    })
  }
  for (const [status, codes] of groupByStatus(codesOf(route))) {
    const shown = answerExamples(examples, status)
    const own = answers.get(status)
    const refused = errorSchema(family, codes)
    const isEither = own !== undefined && typeof answer === 'object'
    const schema = isEither ? z.union([answer, refused]) : refused
    const list = describeCodes(codes)
    responses.set(status, {
      description: own === undefined ? list : `${own.description}\n\n${list}`,
      headers: writeHeaders({ ...own?.headers, ...(status === 429 ? RETRY_AFTER : {}) }),
      content: { 'application/json': { schema: schemas.write(schema), ...shown } },
    })
  }
  return Object.fromEntries(responses)
}

function codesOf({ operation: { codes = [] }, forms: { body }, family, limit }: FormedRoute) {
  if (family === 'verify' || family === 'settle') return [...codes, stopping(family)]
  const common = [httpCodes.invalid_request, httpCodes.internal_error, httpCodes.unavailable]
  if (limit === 'counted') common.push(httpCodes.rate_limited)
  if (body !== undefined) common.push(httpCodes.body_too_large)
  const own = new Set(codes.map(({ code }) => code))
  return [...codes, ...common.filter(({ code }) => !own.has(code))]
}

function stopping(family: 'verify' | 'settle'): DescribedCode {
  const { code } = reasons[family === 'verify' ? 'unexpectedVerifyError' : 'unexpectedSettleError']
  const meaning = 'The service is stopping and did nothing with the request.'
  return { code, status: 503, meaning }
}

function groupByStatus(codes: readonly DescribedCode[]): [number, DescribedCode[]][] {
  const byStatus = new Map<number, DescribedCode[]>()
  for (const code of codes) byStatus.set(code.status, [...(byStatus.get(code.status) ?? []), code])
  return [...byStatus].sort(([a], [b]) => a - b)
}

function answerExamples(examples: Examples, status: number) {
  return writeExamples(examples, (example) => {
    const { answer, params, query, body } = example
    if (example.status !== status || answer === undefined) return undefined
    const request = { params, query, body }
    return { value: answer, ...(isMalformed(example) ? { 'x-request': request } : {}) }
  })
}

function writeHeaders(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )
}

/** A part of a JSON Schema as the document has it. */
export type DocumentedSchema = Record<string, unknown>

type JsonSchemas = ReturnType<typeof createJsonSchemas>

/** The place of named schemas in an OpenAPI document. */
const SCHEMAS = '#/components/schemas/'

/**
 * Turns zod schemas into JSON Schema. A schema with `id` in its metadata is written once and referred to. Metadata
 * `wire` replaces the whole schema, where the text of a query means a number.
 */
function createJsonSchemas() {
  const components = new Map<string, DocumentedSchema>()
  return {
    /** Writes the schema as JSON Schema 2020-12 of the wire format. Named parts become references. */
    write(schema: z.ZodType): DocumentedSchema {
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
        components.set(name, redirect(part) as DocumentedSchema)
      }
      return redirect(written) as DocumentedSchema
    },
    /** Returns the named parts met so far, by name. */
    components: (): Record<string, DocumentedSchema> =>
      Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function replaceByWire(written: DocumentedSchema): void {
  const { wire, description } = written
  if (typeof wire !== 'object' || wire === null) return
  for (const key of Object.keys(written)) delete written[key]
  Object.assign(written, wire, description === undefined ? {} : { description })
}

/** Redirects references from the schema's own `$defs` to the document's schemas. */
function redirect(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redirect)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, it]) => [
      key,
      key === '$ref' && typeof it === 'string' ? it.replace('#/$defs/', SCHEMAS) : redirect(it),
    ]),
  )
}
