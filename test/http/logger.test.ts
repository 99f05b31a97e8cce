import { describe, expect, it, vi } from 'vitest'
import { createLogger, serializeError } from '../../src/app/logger.js'
import { StoreUnavailableError } from '../../src/sql/errors.js'

function aLogger() {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  })
  return { log, lines }
}

const signature = `0x${'ab'.repeat(65)}`
const hash = `0x${'cd'.repeat(32)}`

describe('the logger', () => {
  it('writes nothing below its level', () => {
    const { log, lines } = aLogger()
    log.debug('quiet')
    log.info('loud')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'loud' })
  })

  it('redacts keys, signatures and credentials down to three levels', () => {
    const { log, lines } = aLogger()
    log.info({ signature, payload: { signature }, body: { payload: { signature } } })
    log.info({ privateKey: hash, secrets: { relayerPrivateKeys: [hash] } })
    log.info({ req: { headers: { authorization: 'Bearer x', 'payment-signature': 'x' } } })
    expect(lines.join('')).not.toMatch(/abab|cdcd|Bearer/)
    expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(7)
  })

  it('writes one line a second of each fault of the database, and every line about anything else', () => {
    vi.useFakeTimers()
    const { log, lines } = aLogger()
    const full = Object.assign(new Error('disk is full'), { code: 'SQLITE_FULL' })
    const gone = new Error('settle failed', { cause: new StoreUnavailableError('no answer') })
    for (let second = 0; second < 3; second++) {
      for (let i = 0; i < 500; i++) {
        log.child({ i }).error({ err: full }, 'request failed')
        log.error({ err: full }, 'outcome not kept')
        log.warn({ err: gone }, 'request failed')
      }
      vi.advanceTimersByTime(1_000)
    }
    expect(lines).toHaveLength(9)
    for (let i = 0; i < 5; i++) log.error({ err: new Error('a bug') }, 'request failed')
    expect(lines).toHaveLength(14)
    vi.useRealTimers()
  })

  it('keeps hashes and the message signed', () => {
    const { log, lines } = aLogger()
    log.info({ transaction: hash, authorization: { from: '0x12' } })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      transaction: hash,
      authorization: { from: '0x12' },
    })
  })

  it('cuts URLs and signatures out of an error, its stack and its causes, in every way of logging it', () => {
    const { log, lines } = aLogger()
    const cause = Object.assign(new Error(`wss://node.example/key refused ${signature}`), {
      code: -32000,
      url: 'https://node.example/key',
    })
    const error = new Error('POST "https://node.example/key" failed', { cause })
    log.error(error)
    log.error({ err: error })
    log.error({ err: error }, 'settling failed')
    expect(lines).toHaveLength(3)
    expect(lines.join('')).not.toMatch(/node\.example|abab/)
    const logged = JSON.parse(lines[2] ?? '')
    expect(logged.msg).toBe('settling failed')
    expect(logged.err).toMatchObject({
      type: 'Error',
      message: 'POST "[url]" failed',
      cause: { message: '[url] refused [hex]', code: -32000 },
    })
    expect(logged.err.stack).toContain('logger.test')
  })

  it('survives thrown values that are no errors, and circular causes', () => {
    expect(serializeError('see https://node.example')).toEqual({
      type: 'string',
      message: 'see [url]',
    })
    expect(serializeError(undefined)).toEqual({ type: 'undefined', message: 'not an error' })
    const circle: Error & { cause?: unknown } = new Error('round')
    circle.cause = circle
    expect(JSON.stringify(serializeError(circle)).match(/"round"/g)).toHaveLength(6)
  })
})
