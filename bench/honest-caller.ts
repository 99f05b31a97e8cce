import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { answerLines, isChild, startChild } from './child.js'
import { type SignedPayment, signPayments } from './payments.js'

interface Watch {
  url: string
  seconds: number
}

export interface HonestFigures {
  /** Milliseconds of each settle, also of those that failed. */
  settleMs: number[]
  failed: number
  /** Milliseconds of each `GET /health`. */
  healthMs: number[]
  /** By how much the timers of this process were late, milliseconds: what its own machine adds to every figure. */
  lateMs: number[]
}

/** A process that settles fresh payments and asks for `/health`, on schedule, whatever becomes of earlier ones. */
export interface HonestCaller {
  watch(url: string, seconds: number): Promise<HonestFigures>
  stop(): Promise<void>
}

/** A quarter of a second is no part of the time between two blocks, so settles meet every part of a block. */
const SETTLE_EVERY_MS = 230
const HEALTH_EVERY_MS = 25
/** The service itself waits for a settlement as long as this; a settle that takes longer has failed. */
const PATIENCE_MS = 30_000
const FROM = { 'x-forwarded-for': '203.0.113.5' }

export function startHonestCaller(): HonestCaller {
  const child = startChild(new URL(import.meta.url))
  return {
    watch: (url, seconds) => child.ask({ url, seconds } satisfies Watch),
    stop: child.stop,
  }
}

async function watch({ url, seconds }: Watch): Promise<HonestFigures> {
  const payments = await signPayments(Math.ceil((seconds * 1_000) / SETTLE_EVERY_MS) + 1)
  const timeouts = { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS }
  const pool = new Pool(url, { connections: 2_000, ...timeouts })
  const figures: HonestFigures = { settleMs: [], failed: 0, healthMs: [], lateMs: [] }

  async function settle({ body }: SignedPayment): Promise<void> {
    const askedAt = performance.now()
    const headers = { ...FROM, 'content-type': 'application/json' }
    const answer = await pool
      .request({ method: 'POST', path: '/settle', headers, body })
      .then((response) => response.body.json() as Promise<{ success?: boolean }>)
      .catch(() => ({ success: false }))
    figures.settleMs.push(performance.now() - askedAt)
    if (answer.success !== true) figures.failed++
  }

  async function askHealth(): Promise<void> {
    const askedAt = performance.now()
    await pool
      .request({ method: 'GET', path: '/health', headers: FROM })
      .then(({ body }) => body.dump())
      .catch(() => undefined)
    figures.healthMs.push(performance.now() - askedAt)
  }

  const startedAt = performance.now()
  async function onSchedule(everyMs: number, ask: () => Promise<void> | undefined) {
    const asked: (Promise<void> | undefined)[] = []
    for (let due = startedAt; due < startedAt + seconds * 1_000; due += everyMs) {
      await sleep(Math.max(0, due - performance.now()))
      figures.lateMs.push(performance.now() - due)
      asked.push(ask())
    }
    await Promise.all(asked)
  }

  await Promise.all([
    onSchedule(SETTLE_EVERY_MS, () => {
      const payment = payments.pop()
      return payment && settle(payment)
    }),
    onSchedule(HEALTH_EVERY_MS, askHealth),
  ])
  await pool.close()
  return figures
}

if (isChild(import.meta.url)) await answerLines(watch)
