import { createHash } from 'node:crypto'
import { schemaProblem } from '@arcus/protocol/listing/listing'
import { asSentence } from '@arcus/protocol/listing/text'
import { LRUCache } from 'lru-cache'
import { createTokenBuckets } from '../../async/limits.js'
import { checkSchema, type SchemaVerdict } from '../json-schema/schema-check.js'

/** The result of the check; its reason goes to the merchant. */
export type InfoVerdict = { ok: true } | { ok: false; rejectedReason: string }

/** Parts of an extension that `parseBazaar` read, so bounded in bytes, depth and count. */
interface Described {
  info: Record<string, unknown>
  schema: Record<string, unknown>
}

export type InfoCheck = ReturnType<typeof createInfoCheck>

/** Results remembered; all payments for one resource carry the same pair. */
const MAX_KNOWN = 2_000
/** Some 1 ms of work, which is enough for nearly every extension. A payment may cost no more than that at any time. */
const LIGHT_WORK = 10_000
/** The few that need more, in all. */
const heavyAllowance = { capacity: 10, refillMs: 1_000 }

/**
 * Creates the check of `info` against its `schema` (JSON Schema 2020-12), both of a stranger. Every result is remembered.
 * `now` is in Unix milliseconds.
 */
export function createInfoCheck(now: () => number) {
  const verdicts = new LRUCache<string, InfoVerdict>({ max: MAX_KNOWN })
  const heavy = createTokenBuckets({ ...heavyAllowance, now })

  function ask({ info, schema }: Described): InfoVerdict {
    const problem = schemaProblem(schema)
    if (problem !== undefined) return rejected(`schema ${problem}`)
    const light = checkSchema(schema, info, LIGHT_WORK)
    if (light.ok) return { ok: true }
    if (light.fault !== 'work') return rejected(reasonOf(light))
    if (heavy.take('all') > 0) throw new Error('too many extensions take long to check')
    const verdict = checkSchema(schema, info)
    return verdict.ok ? { ok: true } : rejected(reasonOf(verdict))
  }

  return {
    /** Rejects when too many extensions need much work now. */
    async check(described: Described): Promise<InfoVerdict> {
      const key = keyOf(described)
      const known = verdicts.get(key)
      if (known !== undefined) return known
      const verdict = ask(described)
      verdicts.set(key, verdict)
      return verdict
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
