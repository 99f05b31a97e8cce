import type { FastifyInstance, RouteOptions } from 'fastify'
import { sendPacked, toPackedBody } from './cached-reply.js'
import { escapeHtml, staticPageHeaders } from './html.js'
import {
  type DocumentedSchema,
  type OpenApiDocument,
  type WrittenOperation,
  type WrittenResponse,
  writeDocument,
} from './openapi.js'
import { cached, type DescribedRoute, describedAs, type Operation } from './operation.js'

const openApiOperation: Operation = {
  id: 'getOpenApi',
  tag: 'Service',
  summary: 'This description',
  answers: cached('OpenAPI 3.1.'),
}

const docsOperation: Operation = {
  id: 'getDocs',
  tag: 'Service',
  summary: 'The same for people',
  answers: { 200: 'A page without scripts.' },
}

/**
 * Adds `GET /openapi.json` and, for people, `GET /docs`: the description of every route with an operation. Call it
 * before the routes it describes. `servers` are the public addresses, and `others` the routes that another server of this
 * service has.
 */
export function installOpenApi(
  app: FastifyInstance,
  { servers, others = [] }: { servers: readonly string[]; others?: readonly DescribedRoute[] },
) {
  const routes = [...others]
  app.addHook('onRoute', (route) => void routes.push(...describe(route)))

  const write = once(() => writeDocument(routes, servers))
  const json = once(() => toPackedBody(JSON.stringify(write())))
  const page = once(() => toPackedBody(renderPage(write())))

  app.get('/openapi.json', describedAs(openApiOperation), (request, reply) =>
    sendPacked(request, reply, json()),
  )
  app.get('/docs', describedAs(docsOperation), (request, reply) => {
    reply.headers(pageHeaders).type('text/html; charset=utf-8')
    return sendPacked(request, reply, page())
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

/** The colours and the measures of the console. The page has no font of its own, because it loads nothing. */
const style = `
:root{color-scheme:light dark;--paper:#faf9f6;--raised:#fff;--sunken:#f3f1eb;--line:#e7e3da;--ink:#1b1916;--muted:#59544b;--accent:#2a4bd0}
@media (prefers-color-scheme:dark){:root{--paper:#131210;--raised:#1b1a17;--sunken:#0f0e0c;--line:#2c2a26;--ink:#f1eee7;--muted:#b3ada1;--accent:#93a9ff}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:15px/1.6 system-ui,sans-serif;margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
.top,main,.about{max-width:60rem;margin:0 auto;padding:0 1rem}
.top{display:flex;align-items:center;gap:1.5rem;height:3.5rem}
.bar{border-bottom:1px solid var(--line)}
a{color:var(--accent);text-underline-offset:.2em}
.top a{color:var(--muted);text-decoration:none}.top a:first-child{color:var(--ink);font-weight:600}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:6px}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.02em;margin:2.5rem 0 1rem}
h2{font-size:1.2rem;margin:3rem 0 .5rem}h3{font-size:.9rem;margin:1.2rem 0 .3rem}
code,pre{font:13px/1.5 ui-monospace,monospace}
pre{background:var(--sunken);border:1px solid var(--line);padding:.7rem;overflow:auto;border-radius:8px;overflow-wrap:normal}
details{background:var(--raised);border:1px solid var(--line);border-radius:12px;margin:.5rem 0;padding:.6rem .9rem}
details details{margin:.3rem 0;border-radius:8px}
summary{cursor:pointer}
summary b{display:inline-block;min-width:4.5rem;font-size:.8rem;color:var(--muted)}
table{border-collapse:collapse;width:100%}
td,th{border-top:1px solid var(--line);padding:.4rem .6rem .4rem 0;text-align:left;vertical-align:top}
ul.schema{list-style:none;margin:0;padding-left:.8rem;border-left:1px solid var(--line)}
.tags{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin:1.5rem 0}
.quiet{color:var(--muted)}
main{padding-bottom:5rem}
@media (max-width:40rem){td{display:block;border:0;padding:.1rem 0}tr{display:block;border-top:1px solid var(--line);padding:.4rem 0}summary b{min-width:3.2rem}}
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
<body><header class="bar"><nav class="top" aria-label="Main"><a href="/">Arcus</a><a href="/status">Status</a><a href="/openapi.json">openapi.json</a></nav></header>
<div class="about"><h1>${escapeHtml(info.title)} <span class="quiet">${escapeHtml(info.version)}</span></h1>
${paragraphs(info.description)}
<nav class="tags" aria-label="Parts">${nav}<a href="#schemas">Schemas</a></nav></div><main>${sections.join('')}
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

/** The keywords of a schema that are shown next to its type. */
const plain = ['format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'default']
/** Longer lists are lists of codes, which the description of their answer explains. */
const MAX_SHOWN_VALUES = 8

/** Renders a JSON Schema as nested lists: its type, its rules, and its members. */
function renderSchema(schema: DocumentedSchema): string {
  const members = membersOf(schema)
  const nested = members.length === 0 ? '' : `<ul class="schema">${members.join('')}</ul>`
  const about = typeof schema.description === 'string' ? ` ${escapeHtml(schema.description)}` : ''
  return `<div>${typeOf(schema)}${rulesOf(schema)}${about}</div>${nested}`
}

function membersOf(schema: DocumentedSchema): string[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  const properties = Object.entries((schema.properties ?? {}) as Record<string, DocumentedSchema>)
  const items =
    schema.items === undefined ? [] : [`<li>${renderSchema(schema.items as DocumentedSchema)}</li>`]
  const choices = ((schema.anyOf ?? schema.oneOf ?? []) as DocumentedSchema[])
    .filter(({ type }) => type !== 'null')
    .map((choice) => `<li>${renderSchema(choice)}</li>`)
  const rest = schema.additionalProperties
  const others =
    typeof rest === 'object' && rest !== null && Object.keys(rest).length > 0
      ? [`<li><span class="quiet">any name</span> ${renderSchema(rest as DocumentedSchema)}</li>`]
      : []
  const named = properties.map(
    ([name, member]) =>
      `<li><code>${escapeHtml(name)}</code>${required.includes(name) ? '' : ' <span class="quiet">optional</span>'} ${renderSchema(member)}</li>`,
  )
  return [...named, ...others, ...items, ...choices]
}

function typeOf(schema: DocumentedSchema): string {
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
  const choices = (anyOf ?? oneOf) as DocumentedSchema[] | undefined
  if (choices !== undefined) {
    const isNullable = choices.some((choice) => choice.type === 'null')
    return isNullable ? 'or null:' : 'one of:'
  }
  return typeof type === 'string' ? type : 'anything'
}

function rulesOf(schema: DocumentedSchema): string {
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
