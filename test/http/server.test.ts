import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { anEdgesServer, type EdgesOptions } from './edges-server.js'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

async function listen(options?: EdgesOptions) {
  const edges = await anEdgesServer(options)
  const url = await edges.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...edges, url, port: Number(new URL(url).port) }
}

/** A raw connection that collects everything it receives until the other side closes. */
function dial(port: number) {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  return { socket, closed }
}

const head = (bytes: number) =>
  `POST /verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`

const timeouts = { requestMs: 400, headersMs: 200, checkMs: 50 }

const postJson = (url: string, body: string) =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })

describe('a slow caller', () => {
  it('is cut when its body does not arrive in time, and nothing is logged as an error', async () => {
    const { port, lines } = await listen({ timeouts })
    const { socket, closed } = dial(port)
    socket.write(head(100))
    const drip = setInterval(() => socket.write(' '), 50)
    const answer = await closed
    clearInterval(drip)
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*"request_timeout"/s)
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('is cut when its headers do not arrive in time, or nothing arrives at all', async () => {
    const { port } = await listen({ timeouts })
    const silent = dial(port)
    const { socket, closed } = dial(port)
    socket.write('POST /verify HTTP/1.1\r\n')
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 50)
    expect(await closed).toContain('408')
    clearInterval(drip)
    expect(await silent.closed).toContain('408')
  })

  it('may wait for its answer longer than a request may take to arrive', async () => {
    const { url } = await listen({
      timeouts,
      routes: (app) => {
        app.post('/slow', async () => {
          await wait(900)
          return { done: true }
        })
      },
    })
    expect(await (await postJson(`${url}/slow`, '{}')).json()).toEqual({ done: true })
  })
})

describe('a hostile body', () => {
  it.each([
    ['open', '['.repeat(256 * 1024)],
    ['closed', '['.repeat(128 * 1024) + ']'.repeat(128 * 1024)],
    ['objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
    ['prototypes', `${'{"__proto__":'.repeat(18_000)}1${'}'.repeat(18_000)}`],
    ['one level too much', '['.repeat(33) + ']'.repeat(33)],
  ])('of deep nesting (%s) is a 400 in the shape of its route', async (_, body) => {
    const { url } = await listen()
    const answers = await Promise.all(
      ['/verify', '/settle', '/api/listings'].map((path) => postJson(`${url}${path}`, body)),
    )
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
    const [verify, settle, listing] = await Promise.all(answers.map((answer) => answer.json()))
    expect(verify).toMatchObject({ isValid: false, invalidReason: 'invalid_payload' })
    expect(settle).toMatchObject({
      success: false,
      errorReason: 'invalid_payload',
      transaction: '',
    })
    expect(listing).toMatchObject({ error: 'invalid_request' })
  })

  it('may nest 32 levels, however many brackets its texts have', async () => {
    const { url } = await listen()
    const deepest = `${'['.repeat(31)}{"a":"${'[{'.repeat(100)}"}${']'.repeat(31)}`
    expect((await postJson(`${url}/verify`, deepest)).status).toBe(200)
  })

  it.each([
    ['declared', (bytes: number) => 'x'.repeat(bytes)],
    ['streamed', (bytes: number) => new Blob(['x'.repeat(bytes)]).stream()],
  ])('that is too large is answered in shape before it is read (%s)', async (_, make) => {
    const { url } = await listen()
    for (const bytes of [262_145, 8 * 1024 * 1024]) {
      const response = await fetch(`${url}/settle`, {
        method: 'POST',
        body: make(bytes),
        headers: { 'content-type': 'application/json' },
        duplex: 'half',
      } as RequestInit)
      expect(response.status).toBe(413)
      expect(await response.json()).toMatchObject({
        success: false,
        errorReason: 'body_too_large',
        errorMessage: 'The body must be at most 262144 bytes.',
      })
    }
  })

  it('is not logged as an error if it ends half way', async () => {
    const { port, lines } = await listen()
    const { socket } = dial(port)
    socket.write(`${head(100)}{`)
    await wait(100)
    socket.destroy()
    await wait(100)
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
    expect(lines.some(({ msg }) => String(msg).startsWith('caller left'))).toBe(true)
  })

  it('leaves the connection open for the next request', async () => {
    const { port } = await listen()
    const { socket, closed } = dial(port)
    socket.write(`${head(1)}{`)
    socket.write(`${head(300_000)}${'x'.repeat(300_000)}`)
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toEqual(['400', '413', '200'])
  })
})

it('answers bytes that are not HTTP, and endless headers, in JSON', async () => {
  const { port } = await listen()
  const garbage = dial(port)
  garbage.socket.write('\u0016\u0003\u0001 hello\r\n\r\n')
  expect(await garbage.closed).toMatch(/^HTTP\/1\.1 400 .*"invalid_request"/s)
  const endless = dial(port)
  endless.socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`)
  expect(await endless.closed).toMatch(/^HTTP\/1\.1 431 /)
})

/** Opens a connection and waits until it is there. */
async function connected(port: number) {
  const dialled = dial(port)
  await once(dialled.socket, 'connect')
  return dialled
}

const isWell = async (port: number) =>
  (await fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: 'close' } })).status

describe('a flood of connections', () => {
  it('is bounded: those past the bound are closed at once', async () => {
    const { port } = await listen({ maxConnections: 20 })
    await Promise.all(Array.from({ length: 20 }, () => connected(port)))
    const late = await connected(port)
    await late.closed
    expect(sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(20)
  })

  it('of idle connections makes room for callers with a request', async () => {
    const { port } = await listen({ maxConnections: 20 })
    const idle = await Promise.all(Array.from({ length: 20 }, () => connected(port)))
    for (const { socket } of idle) {
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'data')
    }
    // The first one past the bound is turned away, and those that wait for nothing with it.
    const turnedAway = await connected(port)
    await Promise.all([turnedAway, ...idle].map(({ closed }) => closed))
    expect(await isWell(port)).toBe(200)
  })

  it('of silent or endless requests ends at the time limits of a request', async () => {
    const { port } = await listen({ maxConnections: 20, timeouts })
    const silent = await Promise.all(Array.from({ length: 10 }, () => connected(port)))
    const slow = await Promise.all(Array.from({ length: 10 }, () => connected(port)))
    for (const { socket } of slow) {
      socket.write('POST /verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    }
    await Promise.all([...silent, ...slow].map(({ closed }) => closed))
    expect(await isWell(port)).toBe(200)
  })
})
