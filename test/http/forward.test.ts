import { once } from 'node:events'
import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { createLogger } from '../../src/app/logger.js'
import { openEventStream } from '../../src/http/event-stream.js'
import { securityHeaders } from '../../src/http/headers.js'
import { createServer } from '../../src/http/server.js'
import { aForwardingServer, away, dial } from './a-forwarding-server.js'

/** Answers what came: the request line, the headers, and the body as hexadecimal digits. */
function echo(incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = incoming
  const parts: Buffer[] = []
  incoming.on('data', (part) => parts.push(part))
  incoming.on('end', () => {
    const body = Buffer.concat(parts).toString('hex')
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ method, url, headers, body }))
  })
}

interface Asked {
  method?: string
  headers?: OutgoingHttpHeaders
  body?: string | Buffer
}

/** Asks as no browser would: the path goes out as it is given. */
async function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part)
  const bytes = Buffer.concat(parts)
  const text = bytes.toString()
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes,
    text,
    json: () => JSON.parse(text),
  }
}

/** Begins a request and leaves its body open. */
function begin(port: number, path: string, headers: OutgoingHttpHeaders = {}, method = 'POST') {
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  asked.on('error', () => {})
  return asked
}

describe('a forwarded request', () => {
  it.each([
    '/',
    '/discovery/resources?limit=5&cursor=a%2Bb+c%20d',
    '/api//merchants///x',
    '//discovery/resources',
    '/api/merchants/..%2f..%2Fverify',
    '/api/./merchants/../try',
    '/%76erify/%E2%82%AC?q=%zz&%00',
    '/api/x?next=http://a.example//b/../c&empty=&&',
    '/api/x?',
    "/api/a;b=c,d/@e:f!$&'()*",
    `/api/${'x'.repeat(900)}`,
  ])('has its path and query byte for byte: %s', async (path) => {
    const { port } = await aForwardingServer(echo)
    expect((await ask(port, path)).json().url).toBe(path)
  })

  it('has a path that can be decoded, or is refused here', async () => {
    const inner = vi.fn(echo)
    const { port } = await aForwardingServer(inner)
    const { status, json } = await ask(port, '/api/%zz')
    expect([status, json().error]).toEqual([400, 'invalid_request'])
    expect(inner).not.toHaveBeenCalled()
  })

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])(
    'keeps its method and body: %s',
    async (method) => {
      const { port } = await aForwardingServer(echo)
      const body = Buffer.from([0, 255, 13, 10, 128])
      const headers = { 'content-length': body.length }
      const sized = (await ask(port, '/api/x', { method, headers, body })).json()
      expect([sized.method, sized.body]).toEqual([method, '00ff0d0a80'])
      expect(sized.headers['content-length']).toBe('5')
      const chunked = { 'transfer-encoding': 'chunked' }
      const parted = (await ask(port, '/api/x', { method, headers: chunked, body })).json()
      expect([parted.method, parted.body]).toEqual([method, '00ff0d0a80'])
      expect((await ask(port, '/api/x', { method })).json()).toMatchObject({ method, body: '' })
    },
  )

  it('keeps its headers, whatever the type of its body', async () => {
    const { port } = await aForwardingServer(echo)
    const headers = {
      accept: ['text/html', 'text/plain;q=0.5'],
      authorization: 'Bearer a.b',
      cookie: ['a=1', 'b=2'],
      'content-type': 'application/octet-stream; x="y"',
      'content-encoding': 'br',
      'if-none-match': 'W/"x"',
      'x-odd': 'caf\xe9 \t end',
      'x-empty': '',
    }
    const asked = { method: 'POST', headers, body: Buffer.from('{') }
    expect((await ask(port, '/api/x', asked)).json().headers).toMatchObject({
      ...headers,
      accept: 'text/html, text/plain;q=0.5',
      cookie: 'a=1; b=2',
    })
  })

  it('has the host, address and id that this server found, and none that the caller claims', async () => {
    const { port } = await aForwardingServer(echo)
    const forged = {
      host: 'pay.example.com:8443',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-request-id': 'not well formed',
      connection: 'x-forwarded-for, x-forwarded-host, x-request-id',
    }
    const { headers, json } = await ask(port, '/api/x', { headers: forged })
    expect(json().headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'pay.example.com:8443',
      'x-forwarded-proto': 'http',
      'x-request-id': headers['x-request-id'],
    })
    expect(headers['x-request-id']).toMatch(/^\w+-\w+$/)
  })

  it('names the caller whom a trusted proxy names', async () => {
    const inner = createServer({
      logger: createLogger({ level: 'silent' }),
      bodyLimitBytes: 1_000,
      settleWaitSeconds: 30,
      trustProxy: true,
    })
    inner.get('/api/x', ({ ip, host, protocol, id }) => ({ ip, host, protocol, id }))
    const { port } = await aForwardingServer(inner, { trustProxy: 1 })
    const headers = {
      host: 'inside:3000',
      'x-forwarded-for': '10.9.9.9, [2001:db8::1]:443',
      'x-forwarded-host': 'pay.example.com',
      'x-forwarded-proto': 'https',
      'x-request-id': 'mine-1',
    }
    const answer = await ask(port, '/api/x', { headers })
    expect(answer.json()).toEqual({
      ip: '2001:db8::1',
      host: 'pay.example.com',
      protocol: 'https',
      id: 'mine-1',
    })
    expect(answer.headers['x-request-id']).toBe('mine-1')
  })

  it('leaves the headers of its connection behind, those that it names too', async () => {
    const { port } = await aForwardingServer(echo)
    const headers = {
      connection: 'close, X-Hop',
      'x-hop': 'a',
      te: 'trailers',
      'keep-alive': 'timeout=9',
      'proxy-authorization': 'Basic eDp5',
      'proxy-connection': 'keep-alive',
      upgrade: 'h2c',
      'x-end': 'b',
    }
    const seen = (await ask(port, '/api/x', { headers })).json().headers
    expect(seen['x-end']).toBe('b')
    const hops = Object.keys(headers).filter((name) => !['connection', 'x-end'].includes(name))
    expect(Object.keys(seen).filter((name) => hops.includes(name))).toEqual([])
    expect(seen.connection).toBe('keep-alive')
  })

  it.each(['chunked', 'with its length'])('streams its body: %s', async (way) => {
    const parts: string[] = []
    const { port } = await aForwardingServer((incoming, response) => {
      incoming.on('data', (part) => parts.push(String(part)))
      incoming.on('end', () => response.end('thanks'))
    })
    const length = way === 'chunked' ? {} : { 'content-length': 10 }
    const asked = begin(port, '/api/x', length)
    asked.write('first')
    await vi.waitUntil(() => parts.join('') === 'first')
    asked.end('after')
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    expect(parts.join('')).toBe('firstafter')
  })

  it('waits for a caller who asks whether to go on', async () => {
    const { port } = await aForwardingServer(echo)
    const asked = begin(port, '/api/x', { expect: '100-continue', 'content-length': 2 })
    asked.flushHeaders()
    await once(asked, 'continue')
    asked.end('ok')
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    expect(JSON.parse(await textOf(answer)).body).toBe('6f6b')
  })
})

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of answer) text += part
  return text
}

describe('a forwarded answer', () => {
  it('keeps status, headers and bytes', async () => {
    const body = gzipSync('x'.repeat(5_000))
    const { port } = await aForwardingServer((_request, response) => {
      response.writeHead(203, {
        'content-encoding': 'gzip',
        'content-security-policy': "default-src 'self'",
        'cache-control': 'public, max-age=60',
        'set-cookie': ['a=1', 'b=2'],
        connection: 'X-Hop',
        'x-hop': 'a',
        'keep-alive': 'timeout=7',
        'x-end': 'b',
      })
      response.end(body)
    })
    const answer = await ask(port, '/x')
    expect(answer.status).toBe(203)
    expect(answer.bytes).toEqual(body)
    expect(answer.headers).toMatchObject({
      ...securityHeaders,
      'content-security-policy': "default-src 'self'",
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=60',
      'set-cookie': ['a=1', 'b=2'],
      'x-end': 'b',
    })
    expect(answer.headers).not.toHaveProperty('x-hop')
    expect(answer.headers['keep-alive']).not.toBe('timeout=7')
  })

  it('arrives before its last bytes are made, and its head before the first', async () => {
    let write = (_text: string) => {}
    const { port } = await aForwardingServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
      write = (text) => response.write(text)
    })
    const asked = begin(port, '/x', {}, 'GET')
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    expect(answer.headers['content-type']).toBe('text/plain')
    for (const text of ['one', 'two']) {
      write(text)
      const [part] = await once(answer, 'data')
      expect(String(part)).toBe(text)
    }
    asked.destroy()
  })

  it('may be a stream of events, which ends on both sides when its reader leaves', async () => {
    const inner = createServer({
      logger: createLogger({ level: 'silent' }),
      bodyLimitBytes: 1_000,
      settleWaitSeconds: 30,
      trustProxy: true,
    })
    let stream: ServerResponse | undefined
    inner.get('/api/events', (_request, reply) => {
      stream = openEventStream(reply)
    })
    const { port } = await aForwardingServer(inner)
    const asked = begin(port, '/api/events', {}, 'GET')
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    const [hello] = await once(answer, 'data')
    expect(String(hello)).toContain('retry:')
    stream?.write('event: sale\ndata: {}\n\n')
    const [event] = await once(answer, 'data')
    expect(String(event)).toBe('event: sale\ndata: {}\n\n')
    asked.destroy()
    await vi.waitUntil(() => stream?.destroyed)
  })

  it('that breaks off cuts the connection, so that it never looks whole', async () => {
    const { port } = await aForwardingServer((_request, response) => {
      response.write('half')
      setTimeout(() => response.destroy(), 50)
    })
    const { socket, closed, received } = dial(port)
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await closed
    expect(received()).toContain('half')
    expect(received()).not.toContain('\r\n0\r\n')
  })

  it('that breaks off before its first byte cuts the connection too, and no cache takes it for whole', async () => {
    const { port } = await aForwardingServer((_request, response) => {
      const headers = { 'cache-control': 'public, max-age=60', 'content-length': 4 }
      response.writeHead(200, headers).flushHeaders()
      setTimeout(() => response.destroy(), 50)
    })
    const { socket, closed, received } = dial(port)
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 200 .*content-length: 4.*\r\n\r\n$/is)
  })

  it('that stands still is given up', async () => {
    const { port } = await aForwardingServer((_request, response) => void response.write('half'), {
      timeoutMs: 1_000,
    })
    const { socket, closed } = dial(port)
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await closed
  })

  it('to HEAD has a length and no body; 304 and 204 have neither', async () => {
    const { port } = await aForwardingServer((incoming, response) => {
      const status = Number(incoming.url?.slice(1))
      response.writeHead(status, { etag: '"x"', ...(status === 200 && { 'content-length': 7 }) })
      response.end(incoming.method === 'HEAD' ? undefined : status === 200 ? 'content' : undefined)
    })
    const head = await ask(port, '/200', { method: 'HEAD' })
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '7'])
    for (const status of [304, 204]) {
      const answer = await ask(port, `/${status}`)
      expect([answer.status, answer.text, answer.headers.etag]).toEqual([status, '', '"x"'])
      expect(answer.headers).not.toHaveProperty('transfer-encoding')
    }
    expect((await ask(port, '/200')).text).toBe('content')
  })

  it('may come before the whole body did, and the connection stays', async () => {
    const { port } = await aForwardingServer((_request, response) => {
      response.writeHead(401, { 'content-length': 2 }).end('no')
    })
    const { socket, received } = dial(port)
    socket.write('POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
    await vi.waitUntil(() => received().endsWith('no'))
    socket.write(' now.GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await vi.waitUntil(() => received().split('HTTP/1.1 401').length === 3)
  })
})

describe('a caller who leaves', () => {
  /** A server that waits with its answers, and what it sees of each. */
  async function aWaitingServer() {
    const open: ServerResponse[] = []
    const seen = { aborted: 0, bytes: 0 }
    const server = await aForwardingServer((incoming, response) => {
      open.push(response)
      incoming.on('data', (part) => {
        seen.bytes += part.length
      })
      incoming.on('error', () => seen.aborted++)
      if (incoming.url === '/begun') response.write('half')
    })
    return { ...server, open, seen }
  }

  it('before the first byte ends the request on the other side', async () => {
    const { port, open } = await aWaitingServer()
    const asked = begin(port, '/x', {}, 'GET')
    asked.end()
    await vi.waitUntil(() => open.length === 1)
    asked.destroy()
    await vi.waitUntil(() => open[0]?.destroyed)
  })

  it('in the middle of the answer ends it on the other side', async () => {
    const { port, open } = await aWaitingServer()
    const asked = begin(port, '/begun', {}, 'GET')
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await once(answer, 'data')
    asked.destroy()
    await vi.waitUntil(() => open[0]?.destroyed)
  })

  it('in the middle of an upload ends it on the other side', async () => {
    const { port, open, seen } = await aWaitingServer()
    for (const headers of [{}, { 'content-length': 10 }]) {
      const asked = begin(port, '/x', headers)
      asked.write('half')
      await vi.waitUntil(() => seen.bytes > 0)
      asked.destroy()
      await vi.waitUntil(() => open.at(-1)?.destroyed && seen.aborted === open.length)
      seen.bytes = 0
    }
  })

  it('ends the requests too that wait for their turn on the same connection', async () => {
    const { port, open } = await aWaitingServer()
    const { socket } = dial(port)
    socket.write('GET /begun HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(12))
    await vi.waitUntil(() => open.length === 12)
    socket.destroy()
    await vi.waitUntil(() => open.every(({ destroyed }) => destroyed))
  })
})

describe('a body that is too long', () => {
  const refusal = { error: 'body_too_large', message: 'The body must be at most 100000 bytes.' }

  it('is refused by its length before anything is forwarded, and the connection stays', async () => {
    const inner = vi.fn(echo)
    const { port } = await aForwardingServer(inner)
    const { socket, received } = dial(port)
    const body = 'x'.repeat(100_001)
    socket.write(`POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await vi.waitUntil(() => received().includes(JSON.stringify(refusal)))
    expect(received()).toMatch(/^HTTP\/1\.1 413 /)
    expect(inner).not.toHaveBeenCalled()
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await vi.waitUntil(() => received().includes('HTTP/1.1 200'))
  })

  it('is refused where it passes the limit if it is chunked, and the connection stays', async () => {
    const broken: unknown[] = []
    const { port } = await aForwardingServer((incoming, response) => {
      incoming.on('error', (error) => broken.push(error))
      if (incoming.method === 'GET') response.end('still here')
      else incoming.resume()
    })
    const { socket, received } = dial(port)
    socket.write('POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    for (let i = 0; i < 10; i++) socket.write(chunk)
    await vi.waitUntil(() => received().includes(JSON.stringify(refusal)))
    expect(received()).toMatch(/^HTTP\/1\.1 413 /)
    await vi.waitUntil(() => broken.length === 1)
    socket.write('0\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await vi.waitUntil(() => received().includes('still here'))
  })

  it('is forwarded up to the limit', async () => {
    const { port } = await aForwardingServer(echo)
    const body = 'x'.repeat(100_000)
    for (const headers of [{ 'content-length': 100_000 }, { 'transfer-encoding': 'chunked' }]) {
      const { status, json } = await ask(port, '/x', { method: 'POST', headers, body })
      expect([status, json().body.length]).toEqual([200, 200_000])
    }
  })

  it('at /mcp is refused in the shape of JSON-RPC', async () => {
    const { port } = await aForwardingServer(echo)
    const { status, json } = await ask(port, '/mcp', { method: 'POST', body: 'x'.repeat(100_001) })
    expect(status).toBe(413)
    expect(json()).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32000, data: { error: 'body_too_large' } },
    })
  })
})

describe('the limit of requests', () => {
  it('counts a request before it is forwarded, and once', async () => {
    const inner = vi.fn(echo)
    const { port } = await aForwardingServer(inner, { rateLimitMax: 3 })
    const methods = ['GET', 'POST', 'OPTIONS', 'GET', 'OPTIONS', 'DELETE']
    const answers = []
    for (const method of methods) answers.push((await ask(port, '/api/try', { method })).status)
    expect(answers).toEqual([200, 200, 200, 429, 429, 429])
    expect(inner).toHaveBeenCalledTimes(3)
  })

  it('counts a method that no route here has once too', async () => {
    const { port } = await aForwardingServer(echo, { rateLimitMax: 2 })
    const answers = []
    for (let i = 0; i < 3; i++) answers.push((await ask(port, '/x', { method: 'PROPFIND' })).status)
    expect(answers).toEqual([200, 200, 429])
  })

  it('counts what is wrong about the paths of this server', async () => {
    const { port } = await aForwardingServer(echo, { rateLimitMax: 1 })
    expect((await ask(port, '/verify')).status).toBe(405)
    expect((await ask(port, '/verify')).status).toBe(429)
  })

  it('is read by pages of any origin on an open path, and on no other', async () => {
    const { port } = await aForwardingServer(echo, { rateLimitMax: 1 })
    await ask(port, '/x')
    const open = await ask(port, '/discovery/resources')
    expect(open.status).toBe(429)
    expect(open.headers['retry-after']).toMatch(/^\d+$/)
    expect(open.headers['access-control-allow-origin']).toBe('*')
    expect(open.headers['access-control-expose-headers']).toContain('Retry-After')
    for (const path of ['/api/session', '/api/try', '/mcp', '/']) {
      const closed = await ask(port, path)
      expect(closed.status).toBe(429)
      expect(closed.headers).not.toHaveProperty('access-control-allow-origin')
      expect(closed.headers).not.toHaveProperty('access-control-expose-headers')
    }
  })

  it('answers at /mcp in the shape of JSON-RPC', async () => {
    const { port } = await aForwardingServer(echo, { rateLimitMax: 1 })
    await ask(port, '/x')
    expect((await ask(port, '/mcp', { method: 'POST', body: '{}' })).json()).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32000, data: { error: 'rate_limited' } },
    })
  })
})

describe('while the other server is away', () => {
  it('its paths answer 503 with Retry-After, those of this one as always', async () => {
    const { port, closeInner } = await aForwardingServer(echo)
    expect((await ask(port, '/discovery/resources')).status).toBe(200)
    await closeInner()
    const { status, headers, json } = await ask(port, '/discovery/resources')
    expect([status, headers['retry-after']]).toEqual([503, '2'])
    expect(json()).toEqual({ error: 'unavailable', message: away })
    expect(headers['access-control-allow-origin']).toBe('*')
    const closed = await ask(port, '/api/try', { method: 'POST', body: '{}' })
    expect(closed.status).toBe(503)
    expect(closed.headers).not.toHaveProperty('access-control-allow-origin')
    expect((await ask(port, '/supported')).status).toBe(200)
    const rpc = await ask(port, '/mcp', { method: 'POST', body: '{}' })
    expect([rpc.status, rpc.headers['retry-after']]).toEqual([503, '2'])
    expect(rpc.json()).toMatchObject({ jsonrpc: '2.0', error: { data: { error: 'unavailable' } } })
  })

  it('a caller who uploads reads the 503, and keeps the connection', async () => {
    const { port, closeInner } = await aForwardingServer(echo)
    await closeInner()
    const { socket, received } = dial(port)
    const half = 'x'.repeat(40_000)
    socket.write(`PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 80000\r\n\r\n${half}`)
    await vi.waitUntil(() => received().includes(away))
    socket.write(`${half}GET /supported HTTP/1.1\r\nHost: x\r\n\r\n`)
    await vi.waitUntil(() => received().includes('"kinds"'))
  })

  it('a request is not sent twice: one that dies with the server is answered 503', async () => {
    let count = 0
    const { port } = await aForwardingServer((incoming) => {
      count++
      incoming.socket.destroy()
    })
    for (const method of ['GET', 'POST']) {
      expect((await ask(port, '/x', { method })).status).toBe(503)
    }
    await wait(50)
    expect(count).toBe(2)
  })
})

describe('paths and origins', () => {
  const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'GET' }

  it('a preflight of an open path is answered here', async () => {
    const inner = vi.fn(echo)
    const { port } = await aForwardingServer(inner)
    const asked = { method: 'OPTIONS', headers: preflight }
    const { status, headers } = await ask(port, '/api/merchants', asked)
    expect([status, headers['access-control-allow-origin']]).toEqual([204, '*'])
    expect(inner).not.toHaveBeenCalled()
  })

  it('a preflight of a closed path is answered there, and opens nothing', async () => {
    const { port } = await aForwardingServer((_request, response) => {
      response.writeHead(405, { allow: 'GET' }).end()
    })
    const asked = { method: 'OPTIONS', headers: preflight }
    const { status, headers } = await ask(port, '/api/session', asked)
    expect([status, headers.allow]).toEqual([405, 'GET'])
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('who may read a forwarded answer is said by the server that made it', async () => {
    const { port } = await aForwardingServer((incoming, response) => {
      if (incoming.url === '/mcp')
        response.setHeader('access-control-allow-origin', 'https://a.example')
      response.end()
    })
    const { headers: closed } = await ask(port, '/discovery/resources')
    expect(closed).not.toHaveProperty('access-control-allow-origin')
    const { headers: open } = await ask(port, '/mcp')
    expect(open['access-control-allow-origin']).toBe('https://a.example')
  })

  it.each([
    ['GET', '/verify', 405, 'POST'],
    ['PUT', '/verify', 405, 'POST'],
    ['OPTIONS', '/verify', 405, 'POST'],
    ['POST', '/supported', 405, 'GET, HEAD'],
    ['GET', '/verify/more', 404, undefined],
  ])('%s %s is answered here: %i', async (method, path, status, allow) => {
    const inner = vi.fn(echo)
    const { port } = await aForwardingServer(inner)
    const answer = await ask(port, path, { method })
    expect([answer.status, answer.headers.allow]).toEqual([status, allow])
    expect(inner).not.toHaveBeenCalled()
    const isOpen = path === '/supported'
    expect(answer.headers['access-control-allow-origin']).toBe(isOpen ? '*' : undefined)
  })

  it('a path that only begins like one of ours is forwarded', async () => {
    const { port } = await aForwardingServer(echo)
    for (const path of ['/verifying', '/supported.html', '/Verify']) {
      expect((await ask(port, path)).json().url).toBe(path)
    }
  })
})
