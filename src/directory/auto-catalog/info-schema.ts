import { createHash } from 'node:crypto'
import { schemaProblem } from '../../listing-client/listing.js'
import { asSentence } from '../../listing-client/text.js'
import type { SchemaCheck, SchemaVerdict } from '../listings/schema-check.js'

/** Whether `info` is what its schema says; a reason that can be told when not. */
export type InfoVerdict =
  | { ok: true }
  /** `isSlow` when it was given up. */
  | { ok: false; rejectedReason: string; isSlow?: boolean }

/** Read by `parseBazaar`, so bounded in bytes, depth and count. */
export interface Described {
  info: Record<string, unknown>
  schema: Record<string, unknown>
}

export interface InfoCheck {
  /** Makes ready: the thread takes longer to start than to judge. */
  start(): void
  /** Rejects when it could not be judged for a reason of ours. */
  judge(described: Described): Promise<InfoVerdict>
}

/** Verdicts remembered; a merchant's payments all carry the same pair. */
const MAX_KNOWN = 2_000
/** What was too slow on a busy machine may pass later. */
const SLOW_KNOWN_MS = 600_000

interface Known {
  verdict: InfoVerdict
  /** Unix milliseconds. */
  until: number
}

/**
 * Validates `info` against `schema` (JSON Schema 2020-12). Both are a stranger's: they are compiled on the thread of
 * `check`, which is ended when it takes too long, and every verdict is remembered. `now` in Unix milliseconds.
 */
export function createInfoCheck(
  { start, check }: Pick<SchemaCheck, 'start' | 'check'>,
  now: () => number,
): InfoCheck {
  const verdicts = new Map<string, Known>()
  const underWay = new Map<string, Promise<InfoVerdict>>()

  function find(key: string): InfoVerdict | undefined {
    const known = verdicts.get(key)
    return known !== undefined && known.until > now() ? known.verdict : undefined
  }

  function remember(key: string, verdict: InfoVerdict, until = Number.POSITIVE_INFINITY) {
    verdicts.delete(key)
    verdicts.set(key, { verdict, until })
    const [oldest] = verdicts.keys()
    if (verdicts.size > MAX_KNOWN && oldest !== undefined) verdicts.delete(oldest)
    return verdict
  }

  async function ask(key: string, { info, schema }: Described): Promise<InfoVerdict> {
    const problem = schemaProblem(schema)
    if (problem !== undefined) return remember(key, rejected(`schema ${problem}`))
    const verdict = await check(schema, info)
    if (verdict.ok) return remember(key, verdict)
    if (verdict.fault === 'busy') throw new Error(verdict.message)
    const refused = rejected(reasonOf(verdict))
    if (verdict.fault !== 'slow') return remember(key, refused)
    return remember(key, { ...refused, isSlow: true }, now() + SLOW_KNOWN_MS)
  }

  return {
    start,
    async judge(described) {
      const key = keyOf(described)
      const known = find(key)
      if (known !== undefined) return remember(key, known, verdicts.get(key)?.until)
      const waiting = underWay.get(key)
      if (waiting !== undefined) return waiting
      const asked = ask(key, described).finally(() => underWay.delete(key))
      underWay.set(key, asked)
      return asked
    },
  }
}

function reasonOf({ fault, message }: Extract<SchemaVerdict, { ok: false }>): string {
  if (fault === 'value') return `info does not match its schema: ${message}`
  return `schema cannot be used: ${message}`
}

function rejected(reason: string) {
  return { ok: false, rejectedReason: asSentence(reason) } as const
}

function keyOf({ info, schema }: Described): string {
  return createHash('sha256')
    .update(JSON.stringify([info, schema]))
    .digest('base64')
}
