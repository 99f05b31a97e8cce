import { createHash } from 'node:crypto'
import type { OpenApiDocument, WrittenOperation, WrittenResponse } from './document.js'
import { renderSchema } from './page-schema.js'
import { escapeHtml, paragraphs } from './page-text.js'

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

/** No script, no other host, no frame: the one style of the page by its hash. */
export const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
}

/** The description of the service as one page of HTML that needs nothing else. */
export function renderPage(document: OpenApiDocument): string {
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
  const told = Object.entries(headers).map(
    ([name, header]) =>
      `<li><code>${escapeHtml(name)}</code>: ${escapeHtml(header.description)}</li>`,
  )
  const bodies = Object.entries(content ?? {}).map(
    ([type, { schema, examples }]) =>
      `<p><code>${escapeHtml(type)}</code></p>${renderSchema(schema)}${renderExamples(examples)}`,
  )
  const title = first.startsWith('- ') ? '' : escapeHtml(first)
  return `<details><summary><b>${status}</b> ${title}</summary>${paragraphs(title === '' ? description : description.slice(first.length))}${told.length === 0 ? '' : `<ul>${told.join('')}</ul>`}${bodies.join('')}</details>`
}

function renderExamples(examples: Record<string, { summary: string; value: unknown }> = {}) {
  return Object.values(examples)
    .map(
      ({ summary, value }) =>
        `<p class="quiet">${escapeHtml(summary)}</p><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`,
    )
    .join('')
}
