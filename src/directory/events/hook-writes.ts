import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { merchantEventTypes } from '../../store/events.js'
import type { HookResult, HookStore, HookWrite } from '../../store/hooks.js'
import type { Merchant } from '../../store/listings.js'
import { listingFault, missingFault, WriteFault } from '../listings/faults.js'
import { requireProof } from '../listings/merchant-view.js'
import {
  type CheckedWrite,
  ownerFault,
  replayFault,
  type WriteCheck,
} from '../listings/signed-write.js'
import type { WriteQuota } from '../listings/write-limits.js'
import { checkTarget, type TargetRules } from '../probe/target-rules.js'
import { type HookSecrets, writeSecret } from './hook-secrets.js'

const MAX_HOOKS = 5
const MAX_URL_CHARS = 1_000

const hookId = z
  .string()
  .regex(/^hook_[A-Za-z0-9_-]{16}$/, 'must be the id of a webhook, such as hook_…')

/** `id` is `null` for a new one. `since` is the event after which deliveries go on; `null` leaves that as it is. */
export const hookBody = z.strictObject({
  id: hookId.nullable(),
  url: z.string().max(MAX_URL_CHARS, `must be at most ${MAX_URL_CHARS} characters`),
  types: z
    .array(z.enum(merchantEventTypes))
    .min(1, 'must name at least one event')
    .max(merchantEventTypes.length, 'must name each event once')
    .refine((types) => new Set(types).size === types.length, 'must name each event once'),
  since: z.int().min(0, 'must not be negative').nullable(),
})

export const hookRemoval = z.strictObject({ id: hookId })

interface HookWritesOptions {
  hooks: HookStore
  check: WriteCheck
  quota: WriteQuota
  secrets: HookSecrets
  rules: TargetRules
  /** Unix milliseconds. */
  now: () => number
}

/** The signed writes about webhooks. Each takes the request as it was sent, and throws a `WriteFault`. */
export interface HookWrites {
  /** Resolves with the secret of a new webhook, which is told this once. */
  set(
    merchantId: string,
    request: unknown,
    ip: string,
  ): Promise<{ id: string; secret: string | null }>
  remove(merchantId: string, request: unknown): Promise<{ id: string }>
}

export function createHookWrites(options: HookWritesOptions): HookWrites {
  const { hooks, check, secrets, rules, now } = options

  return {
    async set(merchantId, request, ip) {
      const actions = { standing: 'hook.set' } as const
      const checked = await check(request, { merchantId, actions, schema: hookBody })
      requireProof(checked.merchant)
      const { id: known, url, types, since } = checked.body
      const target = checkTarget(url, rules)
      if (!target.isAllowed) {
        throw listingFault([{ path: 'url', message: `cannot be called: ${target.message}` }])
      }
      const { owner, message } = checked.write
      // The message itself is forgotten; the bound is on how often an owner makes the service write.
      const undo = await options.quota({ owner, bytes: message.length, ip, isSave: true })
      const id = known ?? `hook_${randomBytes(12).toString('base64url')}`
      const made = known === null ? secrets.create() : { seed: '', keyId: '' }
      const result = await hooks.set(
        writeOf(checked),
        { id, merchantId, url: target.url.href, types, ...made },
        { since, most: MAX_HOOKS, now: now() },
      )
      if (result.state !== 'done') {
        undo()
        throw faultOf(result, checked.merchant)
      }
      const secret = known === null ? secrets.of(made) : undefined
      return { id, secret: secret === undefined ? null : writeSecret(secret) }
    },
    async remove(merchantId, request) {
      const actions = { standing: 'hook.delete' } as const
      const checked = await check(request, { merchantId, actions, schema: hookRemoval })
      const result = await hooks.remove(writeOf(checked), checked.body.id, now())
      if (result.state !== 'done') throw faultOf(result, checked.merchant)
      return checked.body
    },
  }
}

function writeOf({ write }: CheckedWrite<unknown>): HookWrite {
  const { merchantId, owner, nonce, message } = write
  return { merchantId, owner, nonce, deadline: JSON.parse(message).deadline }
}

function faultOf({ state }: HookResult, merchant: Merchant | undefined): WriteFault {
  if (state === 'replayed') return replayFault()
  if (state === 'full') {
    return new WriteFault('too_many_hooks', `A merchant has at most ${MAX_HOOKS} webhooks.`)
  }
  if (state === 'missing') {
    return new WriteFault('hook_not_found', 'The merchant has no webhook with this id.')
  }
  return merchant === undefined ? missingFault(merchant) : ownerFault(false)
}
