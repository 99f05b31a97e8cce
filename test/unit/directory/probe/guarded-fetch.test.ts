import { createServer, type Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createGuardedFetch,
  type GuardedFetchOptions,
} from '../../../../src/directory/probe/guarded-fetch.js'
import { aLocalFetch, aTarget, type Target } from '../../../support/directory/a-target.js'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(answer: Parameters<typeof aTarget>[0]) {
  const target = await aTarget(answer)
  targets.push(target)
  return target
}

const get = (url: string, over: Partial<GuardedFetchOptions> = {}) =>
  aLocalFetch(over)({ url, method: 'GET' })

describe('the guard, strict', () => {
  const strict = (resolve: GuardedFetchOptions['resolve'] & object) =>
    createGuardedFetch({
      allowPrivateHosts: false,
      ownOrigins: [],
      baseUrl: 'https://pay.example.com',
      resolve,
      limits: { connectMs: 300 },
    })

  it('refuses a literal address without asking a resolver', async () => {
    let asked = 0
    const fetch = strict(async () => {
      asked++
      return ['127.0.0.1']
    })
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', '2130706433']) {
      expect(await fetch({ url: `https://${host}/`, method: 'GET' })).toMatchObject({
        kind: 'blocked',
      })
    }
    expect(asked).toBe(0)
  })

  it('answers alike of a name in a private network and of one that does not exist', async () => {
    const missing = (code: string) => () => Promise.reject(Object.assign(new Error('x'), { code }))
    const resolvers = [
      async () => ['10.0.0.5'],
      async () => ['fd00::5'],
      async () => ['203.0.113.5', '10.0.0.5'],
      async () => [],
      missing('ENOTFOUND'),
      missing('ENODATA'),
    ]
    const answers = await Promise.all(
      resolvers.map((it) => strict(it)({ url: 'https://api.example.com/', method: 'GET' })),
    )
    expect(new Set(answers.map((it) => JSON.stringify(it))).size).toBe(1)
  })

  it('says that a name without addresses is unreachable', async () => {
    const none = await strict(async () => [])({ url: 'https://api.example.com/', method: 'GET' })
    expect(none).toMatchObject({ kind: 'unreachable', code: 'ENOTFOUND' })
    const failing = strict(() =>
      Promise.reject(Object.assign(new Error('x'), { code: 'ESERVFAIL' })),
    )
    expect(await failing({ url: 'https://api.example.com/', method: 'GET' })).toMatchObject({
      kind: 'unreachable',
      code: 'ESERVFAIL',
    })
  })

  it('gives up on a resolver that never answers', async () => {
    const answer = await strict(() => new Promise(() => undefined))({
      url: 'https://api.example.com/',
      method: 'GET',
    })
    expect(answer).toMatchObject({ kind: 'timeout' })
  })
})

describe('a name that is bound anew', () => {
  /** Answers the first list, then the second, and counts. */
  function rebinding(first: string[], then: string[]) {
    const state = { asked: 0 }
    const resolve = async () => (state.asked++ === 0 ? first : then)
    return { state, resolve }
  }

  it('is resolved once: the checked address is the one that is called', async () => {
    const target = await open((_, response) => response.end('{}'))
    const { state, resolve } = rebinding(['127.0.0.1'], ['10.255.255.1'])
    const answer = await get(`http://api.example.com:${target.port}/`, { resolve })
    expect(answer).toMatchObject({ kind: 'answer', body: '{}' })
    expect(state.asked).toBe(1)
  })

  it('is not resolved again when the checked address takes no connection', async () => {
    const target = await open((_, response) => response.end('secret'))
    // Loopback too, but no server listens there.
    const { state, resolve } = rebinding(['127.0.0.2'], ['127.0.0.1'])
    const answer = await get(`http://api.example.com:${target.port}/`, { resolve })
    expect(answer).toMatchObject({ kind: 'unreachable', code: 'ECONNREFUSED' })
    expect(state.asked).toBe(1)
    expect(target.connections()).toBe(0)
  })

  it('is refused on the next call, when it leads here, without a connection', async () => {
    const target = await open((_, response) => response.end('secret'))
    const { resolve } = rebinding(['1.2.3.4'], ['127.0.0.1'])
    await resolve()
    const strict = createGuardedFetch({
      allowPrivateHosts: false,
      ownOrigins: [],
      baseUrl: 'https://pay.example.com',
      resolve,
    })
    expect(await strict({ url: 'https://api.example.com/', method: 'GET' })).toMatchObject({
      code: 'ENOTFOUND',
    })
    expect(target.connections()).toBe(0)
  })

  it('is refused when one of its addresses is closed, without a connection to the others', async () => {
    const target = await open((_, response) => response.end('{}'))
    const resolve = async () => ['127.0.0.1', '169.254.169.254']
    const answer = await get(`http://api.example.com:${target.port}/`, { resolve })
    expect(answer).toMatchObject({ code: 'ENOTFOUND' })
    expect(target.connections()).toBe(0)
  })
})

describe('a call', () => {
  it('carries nothing but what it must', async () => {
    let seen: Record<string, unknown> = {}
    const target = await open((request, response) => {
      seen = { method: request.method, url: request.url, headers: request.headers }
      response.end('{}')
    })
    process.env.http_proxy = 'http://127.0.0.1:9'
    process.env.HTTP_PROXY = 'http://127.0.0.1:9'
    try {
      await get(`${target.url}/a?b=c`)
    } finally {
      delete process.env.http_proxy
      delete process.env.HTTP_PROXY
    }
    expect(seen).toEqual({
      method: 'GET',
      url: '/a?b=c',
      headers: {
        host: `127.0.0.1:${target.port}`,
        connection: 'close',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'Arcus-Probe/1 (+https://pay.example.com)',
      },
    })
  })

  it('posts JSON', async () => {
    let seen = ''
    const target = await open((request, response) => {
      request.on('data', (chunk) => {
        seen += `${request.headers['content-type']} ${chunk}`
      })
      request.on('end', () => response.end())
    })
    await aLocalFetch()({ url: target.url, method: 'POST', body: '{"a":1}' })
    expect(seen).toBe('application/json {"a":1}')
  })

  it('does not follow a redirect, and reports where it leads without its user name', async () => {
    const inner = await open((_, response) => response.end('secret'))
    const target = await open((_, response) => {
      response.writeHead(307, { location: `http://user:pass@127.0.0.1:${inner.port}/x` }).end()
    })
    expect(await get(target.url)).toMatchObject({
      kind: 'redirect',
      head: { status: 307 },
      location: `http://127.0.0.1:${inner.port}/x`,
    })
    expect(inner.connections()).toBe(0)
  })

  it('knows a redirect to nowhere', async () => {
    const target = await open((_, response) => response.writeHead(302).end())
    expect(await get(target.url)).toMatchObject({ kind: 'redirect', location: null })
  })

  it('reads a body up to its limit and not a byte more', async () => {
    const limits = { bodyBytes: 1_024 }
    const target = await open((request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    )
    expect(await get(`${target.url}/1024`, { limits })).toMatchObject({
      kind: 'answer',
      bodyBytes: 1_024,
    })
    expect(await get(`${target.url}/1025`, { limits })).toMatchObject({
      kind: 'too_large',
      head: { status: 200 },
    })
  })

  it('leaves an endless body behind, with the head it had', async () => {
    let isClosed = false
    const target = await open((_, response) => {
      const chunk = Buffer.alloc(16_384)
      const pour = () => {
        while (!response.destroyed && response.write(chunk));
        response.once('drain', pour)
      }
      response.on('close', () => {
        isClosed = true
      })
      response.writeHead(402, { 'payment-required': 'e30=' })
      pour()
    })
    expect(await get(target.url)).toMatchObject({ kind: 'too_large', head: { status: 402 } })
    await expect.poll(() => isClosed).toBe(true)
  })

  it('gives up on headers that do not come, also when they trickle', async () => {
    const limits = { headersMs: 300 }
    const silent = await open(() => undefined)
    expect(await get(silent.url, { limits })).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('answer'),
    })
    const target = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write(`x-${Math.random()}: 1\r\n`), 50)
      socket.on('close', () => clearInterval(drip)).on('error', () => undefined)
    })
    const startedAt = Date.now()
    expect(await get(target, { limits })).toMatchObject({ kind: 'timeout' })
    expect(Date.now() - startedAt).toBeLessThan(2_500)
  })

  it('gives up on a body that trickles, with the head it had', async () => {
    const limits = { bodyMs: 300 }
    const target = await open((_, response) => {
      response.writeHead(402)
      const drip = setInterval(() => response.write('.'), 50)
      response.on('close', () => clearInterval(drip))
    })
    expect(await get(target.url, { limits })).toMatchObject({
      kind: 'timeout',
      head: { status: 402 },
      message: 'The body of the answer did not end in time.',
    })
  })

  it('bounds all its parts together', async () => {
    const target = await open((_, response) => {
      setTimeout(() => response.writeHead(200).write('.'), 200)
    })
    const limits = { totalMs: 400 }
    expect(await get(target.url, { limits })).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('together'),
    })
  })

  it('refuses a megabyte of headers', async () => {
    const target = await openRaw((socket) => {
      socket.on('error', () => undefined)
      socket.write(
        `HTTP/1.1 402 Payment Required\r\npayment-required: ${'A'.repeat(1_048_576)}\r\n\r\n`,
      )
    })
    expect(await get(target)).toMatchObject({ kind: 'too_large' })
  })

  it('decompresses nothing', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024))
    const target = await open((_, response) => {
      response.writeHead(402, { 'content-encoding': 'gzip' }).end(bomb)
    })
    expect(await get(target.url)).toMatchObject({
      kind: 'answer',
      body: '',
      bodyBytes: bomb.length,
    })
  })

  it('names each failure: not HTTP, not listening, closed early', async () => {
    const garbage = await openRaw((socket) =>
      socket.on('error', () => undefined).end('SSH-2.0-OpenSSH\r\n'),
    )
    expect(await get(garbage)).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('HTTP'),
    })
    const closing = await openRaw((socket) => socket.destroy())
    expect(await get(closing)).toMatchObject({ kind: 'unreachable' })
    expect(await get('http://127.0.0.1:1/')).toMatchObject({
      kind: 'unreachable',
      code: 'ECONNREFUSED',
    })
  })

  it('refuses TLS that is none, and gives up on TLS that does not answer', async () => {
    const plain = await open((_, response) => response.end())
    expect(await get(`https://127.0.0.1:${plain.port}/`)).toMatchObject({ kind: 'unreachable' })
    const silent = await openRaw((socket) => socket.on('error', () => undefined))
    const limits = { connectMs: 300 }
    expect(await get(silent.replace('http:', 'https:'), { limits })).toMatchObject({
      kind: 'timeout',
    })
  })

  it('ends with the service', async () => {
    const target = await open(() => undefined)
    const stopping = new AbortController()
    const call = get(target.url, { signal: stopping.signal, limits: {} })
    await expect.poll(() => target.connections()).toBe(1)
    stopping.abort()
    expect(await call).toMatchObject({ kind: 'unreachable', code: 'ABORTED' })
    expect(await get(target.url, { signal: stopping.signal })).toMatchObject({ code: 'ABORTED' })
  })
})

const rawServers: Server[] = []
afterEach(() => {
  for (const server of rawServers.splice(0)) server.close()
})

async function openRaw(onConnection: (socket: import('node:net').Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    rawSockets.add(socket)
    onConnection(socket)
  })
  rawServers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as import('node:net').AddressInfo).port}/`
}

const rawSockets = new Set<import('node:net').Socket>()
afterEach(() => {
  for (const socket of rawSockets) socket.destroy()
  rawSockets.clear()
})
