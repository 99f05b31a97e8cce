import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWorld, type World } from '../support/arcus.js'

let world: World
let lines: Record<string, unknown>[] = []
beforeAll(async () => {
  world = await startWorld({
    env: { RATE_LIMIT_MAX: '0', LOG_LEVEL: 'warn' },
    onLine: (line) => lines.push(line),
  })
})
afterAll(() => world?.stop())

/** Deep enough to exhaust the stack of a walk by recursion. */
const deep = '['.repeat(7_000) + ']'.repeat(7_000)

const send = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(world.url + path, {
    method,
    body,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })

it('no route is harmed by JSON that nests deep: it is a 400, and nothing is logged as an error', async () => {
  const { paths } = (await world.get('/openapi.json')).body as {
    paths: Record<string, Record<string, { requestBody?: unknown }>>
  }
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { requestBody }]) => requestBody !== undefined)
      .map(([method]) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'weather')] as const),
  )
  expect(routes.length).toBeGreaterThan(10)
  lines = []
  for (const [method, path] of routes) {
    const body = `{"url":"http://127.0.0.1:9/x","method":"POST","body":${deep}}`
    expect([method, path, (await send(method, path, body)).status]).toEqual([method, path, 400])
  }
  expect(lines.filter(({ level }) => level === 'error' || Number(level) >= 50)).toEqual([])
})

it('agents are answered in the shape of their protocol', async () => {
  lines = []
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_payment_terms","arguments":{"url":"http://127.0.0.1:9/x","method":"POST","body":${deep}}}}`
  const answer = await send('POST', '/mcp', call)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    jsonrpc: '2.0',
    error: { code: -32600, message: 'The body must not nest deeper than 32 levels.' },
  })
  expect(lines.filter(({ level }) => level === 'error' || Number(level) >= 50)).toEqual([])
})
