import type { FastifyInstance, RouteOptions } from 'fastify'
import { z } from 'zod'
import { sendCached, toCachedBody } from './cached-reply.js'
import { escapeHtml, staticPageHeaders } from './html.js'
import {
  type DescribedRoute,
  type OpenApiDocument,
  type WrittenOperation,
  type WrittenResponse,
  writeDocument,
} from './openapi.js'
import { cached, describedAs, type Operation } from './operation.js'

const openApiOperation: Operation = {
  id: 'getOpenApi',
  tag: 'Service',
  summary: 'This description',
  answers: cached('OpenAPI 3.1.', z.looseObject({ openapi: z.literal('3.1.0') })),
  examples: { description: { summary: 'The whole document', status: 200 } },
}

const docsOperation: Operation = {
  id: 'getDocs',
  tag: 'Service',
  summary: 'The same for people',
  answers: { 200: { description: 'A page without scripts.', type: 'text/html' } },
  examples: { page: { summary: 'The page', status: 200 } },
}

/**
 * Adds `GET /openapi.json` and, for people, `GET /docs`: the description of every route with an operation. Call it
 * before the routes it describes. `servers` are the public addresses.
 */
export function installOpenApi(app: FastifyInstance, { servers }: { servers: readonly string[] }) {
  const routes: DescribedRoute[] = []
  app.addHook('onRoute', (route) => void routes.push(...describe(route)))

  const write = once(() => writeDocument(routes, servers))
  const json = once(() => toCachedBody(JSON.stringify(write())))
  const page = once(() => toCachedBody(renderPage(write())))

  app.get('/openapi.json', describedAs(openApiOperation), (request, reply) =>
    sendCached(request, reply, json()),
  )
  app.get('/docs', describedAs(docsOperation), (request, reply) => {
    reply.headers(pageHeaders).type('text/html; charset=utf-8')
    return sendCached(request, reply, page())
  })
}

function describe({ method, url, config }: RouteOptions): DescribedRoute[] {
  const { operation, family = 'plain', limit = 'counted' } = config ?? {}
  if (operation === undefined) return []
  const methods = [method].flat().filter((name) => name !== 'HEAD')
  return methods.map((name) => ({ method: name, url, family, limit, operation }))
}

/** Makes the value at the first request: by then all routes are known, and none is added later. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}

const style = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem}
h1{margin:0}h2{margin:3rem 0 .5rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}
code,pre{font:13px/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.7rem;overflow:auto;border-radius:6px}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.5rem .8rem}
details details{margin:.3rem 0}
summary{cursor:pointer}
summary b{display:inline-block;min-width:4.5rem}
table{border-collapse:collapse;width:100%}
td,th{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top}
ul.schema{list-style:none;margin:0;padding-left:1rem;border-left:1px solid var(--line)}
nav a{margin-right:1rem}
.quiet{opacity:.7}
@media (max-width:40rem){body{padding:1rem}table{display:block;overflow:auto}}
`

const pageHeaders = staticPageHeaders(style)

/** Renders the description of the service as one page of HTML that needs nothing else. */
function renderPage(document: OpenApiDocument): string {
  const { info, tags, components } = document
  const nav = tags.map(({ name }) => `<a href="#${name}">${name}</a>`).join('')
  const sections = tags.map(({ name, description }) => {
    const operations = operationsOf(document, name).map(([method, path, operation]) =>
      renderOperation(method, path, operation),
    )
    return `<section id="${name}"><h2>${name}</h2><p>${escapeHtml(description)}</p>${operations.join('')}</section>`
  })
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><code>${name}</code></summary>${renderSchema(schema)}</details>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(info.title)} ${escapeHtml(info.version)}: HTTP interface</title><style>${style}</style></head>
<body><header><h1>${escapeHtml(info.title)} <span class="quiet">${escapeHtml(info.version)}</span></h1>
${paragraphs(info.description)}<p><a href="/openapi.json">openapi.json</a></p></header>
<nav>${nav}<a href="#schemas">Schemas</a></nav><main>${sections.join('')}
<section id="schemas"><h2>Schemas</h2>${schemas.join('')}</section></main></body></html>
`
}

function operationsOf({ paths }: OpenApiDocument, tag: string) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { tags }]) => tags.some((name) => name === tag))
      .map(([method, operation]) => [method.toUpperCase(), path, operation] as const),
  )
}

function renderOperation(method: string, path: string, operation: WrittenOperation): string {
  const { operationId, summary, description = '', parameters, requestBody, responses } = operation
  const body = requestBody?.content['application/json']
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}${required ? ', required' : ''}</td><td>${escapeHtml(description)}${renderSchema(schema)}</td></tr>`,
  )
  return `<details id="${operationId}"><summary><b>${method}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
${paragraphs(description)}${rows.length === 0 ? '' : `<h3>Parameters</h3><table>${rows.join('')}</table>`}
${body === undefined ? '' : `<h3>Body</h3>${renderSchema(body.schema)}${renderExamples(body.examples)}`}
<h3>Answers</h3>${Object.entries(responses)
    .map(([status, response]) => renderResponse(status, response))
    .join('')}</details>`
}

function renderResponse(status: string, { description, content, headers }: WrittenResponse) {
  const [first = ''] = description.split('\n')
  const shown = Object.entries(headers).map(
    ([name, header]) =>
      `<li><code>${escapeHtml(name)}</code>: ${escapeHtml(header.description)}</li>`,
  )
  const bodies = Object.entries(content ?? {}).map(
    ([type, { schema, examples }]) =>
      `<p><code>${escapeHtml(type)}</code></p>${renderSchema(schema)}${renderExamples(examples)}`,
  )
  const title = first.startsWith('- ') ? '' : escapeHtml(first)
  return `<details><summary><b>${status}</b> ${title}</summary>${paragraphs(title === '' ? description : description.slice(first.length))}${shown.length === 0 ? '' : `<ul>${shown.join('')}</ul>`}${bodies.join('')}</details>`
}

function renderExamples(examples: Record<string, { summary: string; value: unknown }> = {}) {
  return Object.values(examples)
    .map(
      ({ summary, value }) =>
        `<p class="quiet">${escapeHtml(summary)}</p><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`,
    )
    .join('')
}

type Schema = Record<string, unknown>

/** The keywords of a schema that are shown beside its type. */
const plain = ['format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'default']
/** Longer lists are lists of codes, which the description of their answer explains. */
const MAX_SHOWN_VALUES = 8

/** Renders a JSON Schema as nested lists: its type, its rules, and its members. */
function renderSchema(schema: Schema): string {
  const members = membersOf(schema)
  const nested = members.length === 0 ? '' : `<ul class="schema">${members.join('')}</ul>`
  const about = typeof schema.description === 'string' ? ` ${escapeHtml(schema.description)}` : ''
  return `<div>${typeOf(schema)}${rulesOf(schema)}${about}</div>${nested}`
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

/** Renders the Markdown that descriptions use: paragraphs, lists and code. */
function paragraphs(markdown: string): string {
  return markdown
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split('\n')
      if (!lines.every((line) => line.startsWith('- '))) return `<p>${withCode(block)}</p>`
      return `<ul>${lines.map((line) => `<li>${withCode(line.slice(2))}</li>`).join('')}</ul>`
    })
    .join('')
}

function withCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
