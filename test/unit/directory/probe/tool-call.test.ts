import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { checkTool, listTools } from '../../../../src/directory/probe/tool-call.js'
import {
  aPaymentRequired,
  aRequirement,
  network,
  payTo,
  tokens,
} from '../../../support/directory/a-402.js'
import { aLocalFetch, aTarget, type Target } from '../../../support/directory/a-target.js'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

interface Message {
  id?: number
  method: string
  params: { name?: string; cursor?: string }
}
type Handle = (message: Message, request: IncomingMessage, response: ServerResponse) => unknown

const paymentRequired = { isError: true, structuredContent: aPaymentRequired(), content: [] }
const tides = { name: 'tides', inputSchema: { type: 'object' } }

/** The results of an honest server, for a test to bend. */
const honest: Record<string, (message: Message) => unknown> = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} }),
  'tools/list': () => ({ tools: [tides] }),
  'tools/call': () => paymentRequired,
}

async function aServer(handle: Handle) {
  const listener: RequestListener = async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const message: Message = JSON.parse(body)
    const result = await handle(message, request, response)
    if (result === undefined) return
    if (message.id === undefined) response.writeHead(202).end()
    else respond(response, { jsonrpc: '2.0', id: message.id, result })
  }
  const target = await aTarget(listener)
  targets.push(target)
  return `${target.url}/mcp`
}

function respond(response: ServerResponse, message: object) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message))
}

const fetch = aLocalFetch({ limits: { headersMs: 400, bodyMs: 400 } })
const expected = { network, tokens, payTo, price: 10_000n, hasSchema: false, method: 'MCP' }

/** Probes the tool of a server that is honest but for some answers. */
async function look(bent: typeof honest = {}, toolName = 'tides') {
  const url = await aServer(
    (message) => (bent[message.method] ?? honest[message.method])?.(message) ?? null,
  )
  return checkTool(fetch, { url, toolName, arguments: {} }, expected)
}

describe('a tool that is called as far as its payment', () => {
  it('is live when its result asks for the terms, with the schema of its server', async () => {
    expect(await look()).toMatchObject({
      state: 'live',
      chosen: { amount: '10000' },
      tool: tides,
      warnings: [],
    })
  })

  it('may ask in the first text of its result', async () => {
    const text = JSON.stringify(aPaymentRequired())
    const told = { isError: true, content: [{ type: 'text', text }] }
    expect(await look({ 'tools/call': () => told })).toMatchObject({ state: 'live' })
  })

  it.each<[string, string, typeof honest]>([
    ['runs without payment', 'not_402', { 'tools/call': () => ({ content: [] }) }],
    ['fails without asking', 'not_402', { 'tools/call': () => ({ isError: true, content: [] }) }],
    [
      'asks in version 1',
      'not_402',
      {
        'tools/call': () => ({ isError: true, structuredContent: { x402Version: 1, accepts: [] } }),
      },
    ],
    [
      'pays somebody else',
      'wrong_payto',
      {
        'tools/call': () => ({
          isError: true,
          structuredContent: aPaymentRequired({
            accepts: [aRequirement({ payTo: '0x4444444444444444444444444444444444444444' })],
          }),
        }),
      },
    ],
    ['is not in the list', 'tool_missing', { 'tools/list': () => ({ tools: [] }) }],
    ['has a server without a list', 'not_mcp', { 'tools/list': () => ({}) }],
    ['has a server that greets in no version', 'not_mcp', { initialize: () => ({}) }],
  ])('is wrong when it %s', async (_, state, bent) => {
    expect(await look(bent)).toMatchObject({ state })
  })

  it('is found on a later page of the list, of which a few are read', async () => {
    const pages = (last: number): typeof honest => ({
      'tools/list': ({ params: { cursor = '0' } }) => ({
        tools: Number(cursor) === last ? [tides] : [],
        nextCursor: String(Number(cursor) + 1),
      }),
    })
    expect(await look(pages(4))).toMatchObject({ state: 'live' })
    expect(await look(pages(5))).toMatchObject({ state: 'tool_missing' })
  })
})

describe('a server of MCP', () => {
  it('keeps its session and version, and may leave its stream of events open', async () => {
    const seen: IncomingMessage['headers'][] = []
    const url = await aServer((message, request, response) => {
      seen.push(request.headers)
      if (message.id === undefined) return null
      const result = honest[message.method]?.(message)
      const json = JSON.stringify({ jsonrpc: '2.0', id: message.id, result })
      response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 's-1' })
      // A progress notice comes first, and nobody ends the stream.
      response.write(
        'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\r\n\r\n',
      )
      response.write(`event: message\r\ndata: ${json}\r\n\r\n`)
      return undefined
    })
    expect(
      await checkTool(fetch, { url, toolName: 'tides', arguments: {} }, expected),
    ).toMatchObject({ state: 'live' })
    expect(seen[0]?.['mcp-session-id']).toBeUndefined()
    for (const headers of seen.slice(1)) {
      expect(headers).toMatchObject({
        'mcp-session-id': 's-1',
        'mcp-protocol-version': '2025-06-18',
        accept: 'application/json, text/event-stream',
      })
      expect(headers.authorization).toBeUndefined()
    }
  })

  it.each<[string, string, (response: ServerResponse) => unknown]>([
    ['is busy', 'unreachable', (response) => response.writeHead(503).end()],
    ['asks for payment as a whole', 'not_mcp', (response) => response.writeHead(402).end('{}')],
    ['wants a login', 'not_mcp', (response) => response.writeHead(401).end()],
    [
      'leads elsewhere',
      'redirect',
      (it) => it.writeHead(307, { location: 'http://a.example/' }).end(),
    ],
    ['answers in HTML', 'not_mcp', (response) => response.end('<html></html>')],
    ['answers another request', 'not_mcp', (it) => respond(it, { id: 77, result: {} })],
    ['never ends its answer', 'unreachable', (response) => response.write(': hold on\n\n')],
    ['floods', 'unreachable', (response) => response.end('x'.repeat(70_000))],
  ])('that %s is %s', async (_, state, answer) => {
    const url = await aServer((__, ___, response) => {
      answer(response)
      return undefined
    })
    expect(
      await checkTool(fetch, { url, toolName: 'tides', arguments: {} }, expected),
    ).toMatchObject({ state })
  })

  it('lists names that can be called, cleaned texts and no dialect, and no more than it should', async () => {
    const tools = [
      { name: 'two words' },
      { name: 7 },
      {
        name: 'hidden',
        description: 'A\u202eB',
        inputSchema: { $schema: 'draft-07', type: 'object' },
      },
      ...Array.from({ length: 300 }, (_, i) => ({ name: `tool-${i}` })),
    ]
    const url = await aServer((message) =>
      message.method === 'tools/list' ? { tools } : (honest[message.method]?.(message) ?? null),
    )
    const listed = await listTools(fetch, url)
    if (!listed.ok) throw new Error(listed.verdict.message)
    expect(listed.value[0]).toEqual({
      name: 'hidden',
      description: 'AB',
      inputSchema: { type: 'object' },
    })
    expect(listed.value.length).toBeLessThanOrEqual(200)
  })
})
