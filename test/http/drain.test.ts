import { EventEmitter } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { installDrain, surviveRejections } from '../../src/app/lifecycle.js'
import { createLogger } from '../../src/app/logger.js'
import { readinessRoutes } from '../../src/http/health.js'
import { withResolvers } from '../support/with-resolvers.js'
import { anEdgesServer } from './edges-server.js'

/** A listening server whose `/slow` answers when the test says so, with the drain on signals of the test's own. */
async function aDrainingServer({ graceMs = 5_000, delayMs = 0, onClose = async () => {} } = {}) {
  let isLeaving = false
  const gate = withResolvers()
  const entered = withResolvers()
  const events: string[] = []
  const { app } = await anEdgesServer({
    routes: (app) => {
      readinessRoutes(
        app,
        async () => ({ status: 'ready', checks: [] }),
        () => isLeaving,
      )
      // The order is that of the server, because a client learns of an answer later.
      app.addHook('onResponse', async () => void events.push('answered'))
      app.get('/slow', async () => {
        entered.resolve()
        await gate.promise
        return { done: true }
      })
    },
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const source = new EventEmitter()
  const exited = withResolvers<number>()
  const exits: number[] = []
  const logLines: string[] = []
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void logLines.push(line) },
  })
  surviveRejections(log, source)
  installDrain({
    app,
    onClose: async () => {
      events.push('closed')
      await onClose()
    },
    leave() {
      isLeaving = true
    },
    delayMs,
    graceMs,
    log,
    exit: (code) => {
      exits.push(code)
      exited.resolve(code)
    },
    source,
  })
  return {
    url,
    source,
    events,
    exits,
    exited: exited.promise,
    logLines,
    /** Resolves once a request waits in `/slow`. */
    entered: entered.promise,
    release: gate.resolve,
  }
}

/** Over a kept-alive connection, as clients of a facilitator hold them. */
function get(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
}

describe('the drain', () => {
  it('finishes requests in flight, refuses new ones, closes the resources last and exits 0', async () => {
    const { url, entered, source, events, exited, release } = await aDrainingServer()
    const agent = new Agent({ keepAlive: true })
    const inFlight = get(`${url}/slow`, agent)
    await entered
    source.emit('SIGTERM', 'SIGTERM')
    await wait(500)
    await expect(fetch(`${url}/health`)).rejects.toThrow()
    expect(events).toEqual([])
    const releasedAt = performance.now()
    release()
    expect(await inFlight).toBe(200)
    expect(await exited).toBe(0)
    expect(events).toEqual(['answered', 'closed'])
    // The kept-alive connection of the last answer must not hold the process for its idle time.
    expect(performance.now() - releasedAt).toBeLessThan(1_000)
    agent.destroy()
  })

  it('is announced to balancers first: it serves on for the delay, and each answer closes its connection', async () => {
    const { url, source, exited, events, release } = await aDrainingServer({ delayMs: 1_500 })
    release()
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    source.emit('SIGTERM', 'SIGTERM')
    const [ready, slow] = await Promise.all([fetch(`${url}/ready`), fetch(`${url}/slow`)])
    expect([ready.status, slow.status, events.at(-1)]).toEqual([503, 200, 'answered'])
    expect(await ready.text()).toContain('stops soon')
    expect(slow.headers.get('connection')).toBe('close')
    expect(await exited).toBe(0)
    expect(events.at(-1)).toBe('closed')
    await expect(fetch(`${url}/health`)).rejects.toThrow()
  })

  it('serves on until nobody asks any more, and each answer closes its connection', async () => {
    const { url, source, events, exited } = await aDrainingServer()
    source.emit('SIGTERM', 'SIGTERM')
    for (let i = 0; i < 4; i++) {
      await wait(100)
      const { status, headers } = await fetch(`${url}/health`)
      expect([status, headers.get('connection')]).toEqual([200, 'close'])
    }
    expect(await exited).toBe(0)
    expect(events).toEqual([...Array(4).fill('answered'), 'closed'])
    await expect(fetch(`${url}/health`)).rejects.toThrow()
  })

  it('does not wait for ever where somebody always asks', async () => {
    const { url, source, exited } = await aDrainingServer()
    const beganAt = performance.now()
    source.emit('SIGTERM', 'SIGTERM')
    let isOver = false
    void exited.then(() => {
      isOver = true
    })
    while (!isOver) {
      await fetch(`${url}/health`).catch(() => {})
      await wait(20)
    }
    expect(performance.now() - beganAt).toBeGreaterThan(1_900)
    expect(performance.now() - beganAt).toBeLessThan(6_000)
  })

  it('does not keep a person at a terminal waiting', async () => {
    const { source, exited } = await aDrainingServer({ delayMs: 3_600_000 })
    source.emit('SIGINT', 'SIGINT')
    expect(await exited).toBe(0)
  })

  it('answers later requests on a busy connection with 503 in shape', async () => {
    const { url, entered, source, exited, release } = await aDrainingServer()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await entered
    source.emit('SIGTERM', 'SIGTERM')
    await wait(500)
    const headers = 'Host: x\r\nContent-Type: application/json\r\nContent-Length: 2'
    socket.write(`POST /settle HTTP/1.1\r\n${headers}\r\n\r\n{}`)
    await wait(50)
    release()
    await closed
    expect(await exited).toBe(0)
    expect(text).toContain('{"done":true}')
    expect(text).toMatch(/HTTP\/1\.1 503 .*connection: close.*"success":false/is)
  })

  it('cuts requests that are still in flight when the grace is over', async () => {
    const { url, entered, source, events, exited, logLines } = await aDrainingServer({
      graceMs: 150,
    })
    const agent = new Agent({ keepAlive: true })
    const inFlight = get(`${url}/slow`, agent)
    const failed = expect(inFlight).rejects.toThrow('socket hang up')
    await entered
    source.emit('SIGINT', 'SIGINT')
    expect(await exited).toBe(0)
    await failed
    expect(events).toEqual(['closed'])
    expect(logLines.join('')).toContain('grace period is over')
    agent.destroy()
  })

  it('ignores the other signal while it drains, and exits 1 at once on the same one', async () => {
    const { url, entered, source, exits, events, release } = await aDrainingServer()
    const agent = new Agent()
    const inFlight = get(`${url}/slow`, agent)
    await entered
    source.emit('SIGINT', 'SIGINT')
    source.emit('SIGTERM', 'SIGTERM')
    source.emit('orphaned')
    expect(exits).toEqual([])
    await wait(1_050)
    source.emit('SIGTERM', 'SIGTERM')
    source.emit('orphaned')
    expect(exits).toEqual([])
    source.emit('SIGINT', 'SIGINT')
    expect(exits).toEqual([1])
    expect(events).toEqual([])
    release()
    await inFlight
  })

  it('takes the same signal within a second for one, as a process group gets it through npm as well', async () => {
    const { url, entered, source, exits, exited, release } = await aDrainingServer()
    const agent = new Agent()
    const inFlight = get(`${url}/slow`, agent)
    await entered
    for (let i = 0; i < 3; i++) source.emit('SIGTERM', 'SIGTERM')
    await wait(300)
    source.emit('SIGTERM', 'SIGTERM')
    expect(exits).toEqual([])
    release()
    expect([await inFlight, await exited]).toEqual([200, 0])
  })

  it('begins as well when whatever started the process is gone', async () => {
    const { source, exited, events } = await aDrainingServer()
    source.emit('orphaned')
    expect(await exited).toBe(0)
    expect(events).toEqual(['closed'])
  })

  it('exits 1 when the resources do not close', async () => {
    const { source, exited, logLines } = await aDrainingServer({
      onClose: async () => {
        throw new Error('disk gone')
      },
    })
    source.emit('SIGTERM', 'SIGTERM')
    expect(await exited).toBe(1)
    expect(logLines.join('')).toContain('disk gone')
  })
})

describe('an uncaught error', () => {
  it('is logged and survived if it is an unhandled rejection', async () => {
    const { url, source, exits, logLines } = await aDrainingServer()
    source.emit('unhandledRejection', new Error('node https://node.example/key is gone'))
    await wait(20)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect(exits).toEqual([])
    expect(logLines.join('')).toContain('unhandled rejection')
    expect(logLines.join('')).not.toContain('node.example')
  })

  it('drains and exits 1 if it is an exception', async () => {
    const { source, exited, events } = await aDrainingServer()
    source.emit('uncaughtException', new Error('bug'))
    expect(await exited).toBe(1)
    expect(events).toEqual(['closed'])
  })
})
