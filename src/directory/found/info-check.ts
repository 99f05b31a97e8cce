import { createHash } from 'node:crypto'
import { schemaProblem } from 'arcus-client/listing'
import { asSentence } from 'arcus-client/text'
import { LRUCache } from 'lru-cache'
import type { SchemaCheck, SchemaVerdict } from '../listings/schema-check.js'

/** The result of the check; its reason goes to the merchant. */
export type InfoVerdict =
  | { ok: true }
  /** `isSlow` when the check was given up. */
  | { ok: false; rejectedReason: string; isSlow?: boolean }

/** Parts of an extension that `parseBazaar` read, so bounded in bytes, depth and count. */
interface Described {
  info: Record<string, unknown>
  schema: Record<string, unknown>
}

export type InfoCheck = ReturnType<typeof createInfoCheck>

/** Results remembered; all payments for one resource carry the same pair. */
const MAX_KNOWN = 2_000
/** A check that was too slow on a busy machine may pass later. */
const SLOW_KNOWN_MS = 600_000

/**
 * Creates the check of `info` against its `schema` (JSON Schema 2020-12). Both come from a stranger: the thread of
 * `schemas` compiles them and is ended when it takes too long. Every result is remembered. `now` is in Unix milliseconds.
 */
export function createInfoCheck(schemas: Pick<SchemaCheck, 'start' | 'check'>, now: () => number) {
  const verdicts = new LRUCache<string, Promise<InfoVerdict>>({
    max: MAX_KNOWN,
    perf: { now },
    ttlResolution: 0,
  })

  async function ask({ info, schema }: Described): Promise<InfoVerdict> {
    const problem = schemaProblem(schema)
    if (problem !== undefined) return rejected(`schema ${problem}`)
    const verdict = await schemas.check(schema, info)
    if (verdict.ok) return verdict
    if (verdict.fault === 'busy') throw new Error(verdict.message)
    const refused = rejected(reasonOf(verdict))
    return verdict.fault === 'slow' ? { ...refused, isSlow: true } : refused
  }

  return {
    /** Starts the thread, which takes longer than a check. */
    start: schemas.start,
    /** Rejects when the service is too busy to check. */
    check(described: Described): Promise<InfoVerdict> {
      const key = keyOf(described)
      const known = verdicts.get(key)
      if (known !== undefined) return known
      const asked = ask(described)
      verdicts.set(key, asked)
      asked.then(
        (verdict) => {
          const isSlow = !verdict.ok && verdict.isSlow === true
          if (isSlow) verdicts.set(key, asked, { ttl: SLOW_KNOWN_MS })
        },
        () => verdicts.delete(key),
      )
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
