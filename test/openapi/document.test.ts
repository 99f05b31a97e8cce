import { httpCodes } from '@arcus/protocol/answers/errors'
import { routes } from '@arcus/protocol/answers/routes'
import { reasons } from '@arcus/protocol/x402/reasons'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { writeCodes } from '../../src/directory/refusals.js'
import examples from '../../src/http/examples.json' with { type: 'json' }
import type { OpenApiDocument } from '../../src/http/openapi.js'
import { startDirectory } from '../support/a-directory.js'
import { startService, type TestService } from './a-service.js'
import { createAnswerCheck, type DescribedOperation, operationsOf } from './described.js'

/** `vitest -u` writes the answers of this service into it. */
const file = '../../src/http/examples.json'
const written: Readonly<Record<string, Readonly<Record<string, SentExample>>>> = examples

let service: TestService
let document: OpenApiDocument

beforeAll(async () => {
  service = await startService()
  document = service.document
})
afterAll(() => service.close())

/** Fastify shows routes that differ in the name of a parameter as one node with both. */
const nameless = (route: string) => route.replace(/\{\w+\}(\|\{\w+\})*/g, '{}')

/** JSON-RPC describes itself: a client asks it for its tools. */
const otherProtocols = ['POST /mcp', 'GET /mcp', 'DELETE /mcp']

/** The console and its files are for browsers; there are as many as were built, and Fastify prints `assets/*` as `*`. */
function isPage(route: string): boolean {
  if (/^GET \/(payments$|status|console|merchants|how-it-works|quickstart)([/*]|$)/.test(route))
    return true
  return /^GET \/(\*|assets\/\*|[^/]*\.[a-z0-9]+)?$/.test(route) && route !== 'GET /openapi.json'
}

/** The routes that the thread of the directory adds to those of `createDirectory`. */
const besideDirectory = ['GET /api/console', 'GET /api/status', 'GET /docs', 'GET /openapi.json']

/** Fastify's own list, as lines of method and path. */
function registeredRoutes(app: FastifyInstance): string[] {
  const paths: string[] = []
  const lines: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent = '', node = '', methods] =
      /^((?:│ {3}| {4})*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    const depth = indent.length / 4
    paths.length = depth
    paths.push(node)
    const path = paths.join('').replace(/:([a-z]+)/gi, '{$1}')
    for (const method of methods?.split(', ') ?? []) lines.push(`${method} ${path}`)
  }
  return lines
}

describe('the description', () => {
  it('is OpenAPI 3.1 to an independent validator', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
    expect(document.openapi).toBe('3.1.0')
  })

  it('passes the recommended rules of a strict linter, warnings included', async () => {
    // This service goes by localhost. One that is public has a name.
    const named = { ...document, servers: [{ url: 'https://arcus.test' }] }
    const config = await createConfig({ extends: ['recommended-strict'] })
    const problems = await lintFromString({ source: JSON.stringify(named), config })
    const lines = problems.map(
      ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
    )
    expect(lines).toEqual([])
  })

  it('has every route of the service, and no other', async () => {
    const directory = await startDirectory()
    const all = [
      // What it forwards is registered with the directory.
      ...registeredRoutes(service.app).filter((route) => !/ \/?(\*|mcp|payments)$/.test(route)),
      ...registeredRoutes(directory.app),
      ...besideDirectory,
    ]
    await directory.close()
    const registered = all.filter(
      (route) =>
        !/^(HEAD|OPTIONS) /.test(route) && !isPage(route) && !otherProtocols.includes(route),
    )
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`)
    expect(registered.length).toBeGreaterThan(30)
    // Dear routes of the directory are known to the server in front as well, which charges them.
    expect(described.map(nameless).sort()).toEqual([...new Set(registered.map(nameless))].sort())
    // The client takes its types from this table.
    expect(described.sort()).toEqual(Object.keys(routes).sort())
  })

  it('names each operation once, and has no dangling reference', () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)
    const names = [...references].map(([, target = '']) =>
      target.replace('#/components/schemas/', ''),
    )
    expect(names.filter((name) => document.components.schemas[name] === undefined)).toEqual([])
    expect(JSON.stringify(document)).not.toContain('$defs')
  })

  it('has every code of every table with its meaning', () => {
    const text = JSON.stringify(document)
    const tables = [
      ...Object.values(reasons),
      ...Object.values(writeCodes),
      ...Object.values(httpCodes),
    ]
    const general = ['method_not_allowed', 'request_timeout', 'headers_too_large']
    const missing = tables.filter(({ code, meaning }) => {
      const isDescribed = text.includes(JSON.stringify(`- \`${code}\`: ${meaning}`).slice(1, -1))
      return !isDescribed && !(general.includes(code) && document.info.description.includes(code))
    })
    expect(missing).toEqual([])
  })

  it('can be revalidated by its tag, and read from any origin', async () => {
    const first = await service.app.inject('/openapi.json')
    expect(first.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
    })
    const headers = { 'if-none-match': String(first.headers.etag) }
    const again = await service.app.inject({ url: '/openapi.json', headers })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  })
})

describe('its examples', () => {
  it('are answered by the service as described, and as the file says', async () => {
    const check = createAnswerCheck(document)
    const described = new Map(operationsOf(document).map((it) => [it.operation.operationId, it]))
    const problems: string[] = []
    const seen: Record<string, Record<string, SentExample>> = {}
    for (const [id, ofOperation] of Object.entries(written)) {
      const operation = described.get(id)
      if (operation === undefined) throw new Error(`there is no operation ${id}`)
      // The directory learns soon of the settle that came before.
      if (id === 'listPayments') await vi.waitFor(expectPayment, { timeout: 10_000 })
      seen[id] = {}
      for (const [name, example] of Object.entries(ofOperation)) {
        const answer = await service.app.inject(requestOf(operation, example))
        const problem = check.problemOf(operation, answer)
        if (problem !== undefined) problems.push(`${id} ${name}: ${problem}`)
        const given = example.answer === undefined ? {} : { answer: steady(answer.body) }
        seen[id][name] = { ...example, status: answer.statusCode, ...given }
      }
    }
    // The stream is for everybody and never ends.
    const without = [...described.keys()].filter((id) => seen[id] === undefined)
    expect(without).toEqual(['followSettlements'])
    expect(problems).toEqual([])
    await expect(`${JSON.stringify(seen, null, 2)}\n`).toMatchFileSnapshot(file)
  })

  it('of answers fit the schemas they stand beside', () => {
    const check = createAnswerCheck(document)
    const problems = operationsOf(document).flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap(({ content = {} }) =>
        Object.values(content).flatMap(({ schema, examples = {} }) =>
          Object.entries(examples).flatMap(([name, { value }]) => {
            const problem = check.problemOfValue(schema, value)
            return problem === undefined ? [] : [`${operation.operationId} ${name}: ${problem}`]
          }),
        ),
      ),
    )
    expect(problems).toEqual([])
  })

  it('of bodies fit theirs', () => {
    const check = createAnswerCheck(document)
    const bodies = operationsOf(document).flatMap((described) =>
      Object.entries(
        described.operation.requestBody?.content['application/json']?.examples ?? {},
      ).map(([name, { value }]) => ({ described, name, value })),
    )
    expect(bodies.length).toBeGreaterThan(5)
    const problems = bodies.flatMap(({ described: { operation }, name, value }) => {
      const schema = operation.requestBody?.content['application/json']?.schema ?? {}
      // Payments carry members that the schema does not describe; the service checks them itself.
      const isPayment = operation.tags.includes('Payments')
      const problem = isPayment ? undefined : check.problemOfValue(schema, value)
      return problem === undefined ? [] : [`${operation.operationId} ${name}: ${problem}`]
    })
    expect(problems).toEqual([])
  })
})

async function expectPayment(): Promise<void> {
  const { items } = (await service.app.inject('/api/payments')).json()
  expect(items).not.toEqual([])
}

interface SentExample {
  status: number
  params?: Record<string, string>
  query?: Record<string, string>
  body?: object
  answer?: unknown
}

/** The request that a reader of the example would send. */
function requestOf({ method, path }: DescribedOperation, { params, query, body }: SentExample) {
  const filled = Object.entries(params ?? {}).reduce(
    (url, [name, value]) => url.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  )
  const url = query === undefined ? filled : `${filled}?${new URLSearchParams(query)}`
  return { method: method as 'GET', url, ...(body === undefined ? {} : { payload: body }) }
}

/** Returns an answer with the same times, ids and sums each time. */
function steady(answer: string): unknown {
  const text = answer
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-11-21T10:00:00.000Z')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '0b8f3a52-6f0e-4d56-9f1d-3a0c5d8e7f21')
    .replace(/(?<="transaction":"|\/tx\/)0x[\da-f]{64}/g, `0x${'7e'.repeat(32)}`)
    .replace(/(?<="blockNumber":)\d+/g, '12')
    .replace(/(?<="gasUsd":")[\d.]+/g, '0.00226')
    .replace(/(?<=passed )\d+(?= seconds ago)/g, '86400')
  return JSON.parse(text)
}
