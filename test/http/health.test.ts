import { describe, expect, it } from 'vitest'
import { createReadiness, type ReadinessCheck, readinessRoutes } from '../../src/http/health.js'
import { anEdgesServer } from './edges-server.js'

function open(checks: ReadinessCheck[], now?: () => number) {
  return anEdgesServer({
    routes: (app) =>
      readinessRoutes(
        app,
        createReadiness({ checks, log: app.log, timeoutMs: 50, ...(now ? { now } : {}) }),
      ),
  })
}

const passing: ReadinessCheck = {
  name: 'journal',
  check: async () => ({ ok: true, detail: 'Writable.' }),
}

describe('GET /health', () => {
  it('is ok even if checks fail', async () => {
    const { app } = await open([
      { name: 'node', check: async () => ({ ok: false, detail: 'Silent.' }) },
    ])
    const response = await app.inject('/health')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ status: 'ok' })
  })
})

describe('GET /ready', () => {
  it('is 200 with each reason when every check passes', async () => {
    const { app } = await open([passing])
    const response = await app.inject('/ready')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({
      status: 'ready',
      checks: [{ name: 'journal', ok: true, detail: 'Writable.' }],
    })
  })

  it('is 503 when one check fails, throws or hangs, and repeats no error text', async () => {
    const { app, lines } = await open([
      passing,
      { name: 'relayer', check: async () => ({ ok: false, detail: 'Out of gas money.' }) },
      {
        name: 'node',
        check: () => {
          throw new Error('fetch https://node.example/key failed')
        },
      },
      { name: 'token', check: () => new Promise(() => {}) },
    ])
    const response = await app.inject('/ready')
    expect(response.statusCode).toBe(503)
    expect(response.json()).toEqual({
      status: 'not_ready',
      checks: [
        { name: 'journal', ok: true, detail: 'Writable.' },
        { name: 'relayer', ok: false, detail: 'Out of gas money.' },
        { name: 'node', ok: false, detail: 'The check failed; the log has the cause.' },
        { name: 'token', ok: false, detail: 'No answer within 50 ms.' },
      ],
    })
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
    expect(JSON.stringify(lines)).not.toContain('node.example')
  })

  it('runs one round for simultaneous requests, and another after a second', async () => {
    let rounds = 0
    let time = 0
    const counted: ReadinessCheck = {
      name: 'counted',
      check: async () => ({ ok: ++rounds > 0, detail: '' }),
    }
    const { app } = await open([counted], () => time)
    await Promise.all([app.inject('/ready'), app.inject('/ready'), app.inject('/ready')])
    time = 999
    await app.inject('/ready')
    expect(rounds).toBe(1)
    time = 1_000
    await app.inject('/ready')
    expect(rounds).toBe(2)
  })
})
