import { httpCodes } from '@arcus/protocol/answers/errors'
import { routes } from '@arcus/protocol/answers/routes'
import { reasons } from '@arcus/protocol/x402/reasons'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeCodes } from '../../src/directory/refusals.js'
import type { OpenApiDocument, WrittenParameter } from '../../src/http/openapi.js'
import { startDirectory } from '../support/a-directory.js'
import { startService, type TestService } from './a-service.js'
import { createAnswerCheck, type DescribedOperation, operationsOf } from './described.js'

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
  it('are answered by the service as described', async () => {
    const check = createAnswerCheck(document)
    const problems: string[] = []
    let driven = 0
    for (const described of operationsOf(document)) {
      for (const [name, request] of requestsOf(described)) {
        const answer = await service.app.inject(request)
        const status = statusOf(described, name)
        const wrong =
          check.problemOf(described, answer) ??
          (status !== undefined && status !== answer.statusCode
            ? `${answer.statusCode} instead of ${status}: ${answer.body}`
            : undefined)
        if (wrong !== undefined) problems.push(`${request.method} ${request.url} ${name}: ${wrong}`)
        driven++
      }
    }
    expect(problems).toEqual([])
    expect(driven).toBeGreaterThan(30)
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

type Request = { method: 'GET'; url: string; payload?: object }

/** The requests a reader of the document would send: one for each name of an example. */
function requestsOf({ method, path, operation }: DescribedOperation): [string, Request][] {
  const bodies = operation.requestBody?.content['application/json']?.examples ?? {}
  const answers = Object.values(operation.responses)
    .flatMap(({ content = {} }) => Object.values(content))
    .flatMap(({ examples = {} }) => Object.entries(examples))
  const refused = new Map(answers.map(([name, example]) => [name, example['x-request']]))
  const named = (place: 'path' | 'query') => (name: string) => {
    const given = refused.get(name)?.[place === 'path' ? 'params' : 'query']
    if (given !== undefined) return Object.entries(given)
    return operation.parameters.flatMap((parameter: WrittenParameter) => {
      const value = parameter.in === place ? parameter.examples?.[name]?.value : undefined
      return value === undefined ? [] : [[parameter.name, String(value)] as [string, string]]
    })
  }
  const names = new Set([
    ...Object.keys(bodies),
    ...operation.parameters.flatMap(({ examples = {} }) => Object.keys(examples)),
    ...refused.keys(),
  ])
  // This stream is for everybody and never ends.
  if (operation.operationId === 'followSettlements') return []
  if (names.size === 0) names.add('default')
  return [...names].map((name) => {
    const filled = named('path')(name).reduce(
      (url, [key, value]) => url.replace(`{${key}}`, encodeURIComponent(value)),
      path,
    )
    const query = new URLSearchParams(named('query')(name)).toString()
    const payload = (bodies[name]?.value ?? refused.get(name)?.body) as object | undefined
    const url = query === '' ? filled : `${filled}?${query}`
    return [name, { method: method as 'GET', url, ...(payload === undefined ? {} : { payload }) }]
  })
}

/** The status whose answer has an example of the same name. */
function statusOf({ operation }: DescribedOperation, name: string): number | undefined {
  const found = Object.entries(operation.responses).find(([, { content = {} }]) =>
    Object.values(content).some(({ examples }) => examples?.[name] !== undefined),
  )
  return found === undefined ? undefined : Number(found[0])
}
