import { randomBytes } from 'node:crypto'
import {
  type EventsAnswer,
  eventsQuery,
  type HookCallView,
  type HookView,
  merchantEventTypes,
  publicEventTypes,
} from '@arcus/protocol/answers/events'
import {
  hookBody,
  hookRemoval,
  hookTargetBody,
  SMALL_WRITE_BYTES,
} from '@arcus/protocol/answers/writes'
import type { FastifyInstance } from 'fastify'
import { createHourlyCounts } from '../../async/limits.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { ofOwner, ownerCodes } from '../activity/routes.js'
import { requireProof } from '../listings/merchant-view.js'
import { describeWrite } from '../listings/routes.js'
import {
  type CheckedWrite,
  ownerFault,
  replayFault,
  type WriteCheck,
  type WriteQuota,
} from '../listings/signed-write.js'
import { checkTarget, type TargetRules } from '../probe/target-rules.js'
import {
  listingFault,
  missingFault,
  type OfMerchant,
  parseBody,
  presentInPublic,
  refusals,
  WriteFault,
} from '../refusals.js'
import { type OwnerCheckOptions, requireOwner } from '../session/session-routes.js'
import type { EventStore } from '../store/events.js'
import type { Hook, HookCall, HookResult, HookStore, HookWrite } from '../store/hooks.js'
import type { Merchant } from '../store/listings.js'
import { type HookSecrets, toEventJson, writeSecret } from './event-messages.js'

const eventsOperation: Operation = {
  id: 'listEvents',
  tag: 'Activity',
  summary: 'The feed of a merchant, oldest first: what its webhooks receive',
  description:
    'With the session of the owner every event, payments included. Without a session only what the catalog shows to everybody: endpoints that fail or recover, and prices that drift. Events are kept for 30 days, and 10,000 of a merchant.',
  answers: { 200: 'A page.' },
  codes: [...ownerCodes, ...refusals('merchant_hidden')],
}

interface EventRoutesOptions extends OwnerCheckOptions {
  store: Pick<EventStore, 'list'>
}

/** Serves the feed of a merchant by pull. */
export async function eventRoutes(
  app: FastifyInstance,
  options: EventRoutesOptions,
): Promise<void> {
  app.get<OfMerchant>(
    '/api/merchants/:id/events',
    describedAs(eventsOperation),
    async (request, reply): Promise<EventsAnswer> => {
      const { since, limit } = readQuery(eventsQuery, request.query)
      reply.header('cache-control', 'no-store')
      const isOwner = request.cookies[options.sessions.cookies.session] !== undefined
      const { id } = isOwner
        ? await requireOwner(request, options)
        : presentInPublic(await options.listings.findMerchant(request.params.id))
      const types = isOwner ? merchantEventTypes : publicEventTypes
      const found = await options.store.list({ merchantId: id, types, since, limit: limit + 1 })
      const page = found.slice(0, limit)
      return {
        merchant: id,
        scope: isOwner ? 'owner' : 'public',
        events: page.map(toEventJson),
        next: page.at(-1)?.id ?? since,
        hasMore: found.length > limit,
      }
    },
  )
}

const MAX_HOOKS = 5
/** Tests of a webhook within an hour, by this process. */
const MAX_TESTS = 20

const listOperation = ofOwner('listHooks', 'The webhooks of a merchant and their state', {
  200: 'All of them, without their secrets.',
})

const setOperation = {
  ...describeWrite('setHook', 'Create, change or restart a webhook'),
  answers: {
    200: 'With the secret of a new one, which is shown this once. A challenge follows, and nothing else before it is answered.',
  },
}

const removeOperation = {
  ...describeWrite('deleteHook', 'Remove a webhook'),
  answers: { 200: 'Nothing is delivered any more.' },
}

const targetOperation: Operation = {
  ...ofOwner('checkHookTarget', 'Whether a URL can be a webhook, before anything is signed', {
    200: 'It can. Nothing was called.',
  }),
  codes: [...ownerCodes, ...refusals('invalid_listing')],
}

const testOperation: Operation = {
  ...ofOwner('testHook', 'Send a test event to a webhook that answered its challenge', {
    200: 'The call, whether the receiver took it or not.',
  }),
  description: `An event of the type \`test\`, signed as every event is, and sent once. At most ${MAX_TESTS} within an hour.`,
  codes: [
    ...ownerCodes,
    ...refusals('invalid_listing', 'hook_not_found', 'hook_not_confirmed', 'tested_recently'),
  ],
}

interface HookRoutesOptions extends OwnerCheckOptions {
  hooks: HookStore
  check: WriteCheck
  quota: WriteQuota
  secrets: HookSecrets
  rules: TargetRules
  /** Sends a test event. */
  test: (hook: Hook) => Promise<HookCall>
  /** Unix milliseconds. */
  now: () => number
}

/** Serves `/api/merchants/{id}/hooks`: read with the session of the owner, written by signed message. */
export async function hookRoutes(app: FastifyInstance, options: HookRoutesOptions): Promise<void> {
  const { hooks, check, secrets, now } = options
  const path = '/api/merchants/:id/hooks'
  const bodyLimit = SMALL_WRITE_BYTES
  const tests = createHourlyCounts(now)
  /** The webhooks that are being tested. */
  const underTest = new Set<string>()
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  app.get<OfMerchant>(path, describedAs(listOperation), async (request) => {
    const merchant = await requireOwner(request, options)
    return { hooks: (await hooks.ofMerchant(merchant.id)).map(toView) }
  })

  app.put<OfMerchant>(path, { bodyLimit, ...describedAs(setOperation) }, async (request) => {
    const merchantId = request.params.id
    const actions = { standing: 'hook.set' } as const
    const checked = await check(request.body, { merchantId, actions, schema: hookBody })
    requireProof(checked.merchant)
    const { id: known, url, types, since } = checked.body
    const target = allowedTarget(url, options.rules)
    const { owner, message } = checked.write
    // The message itself is forgotten; the bound is on how often an owner makes the service write.
    const written = { owner, bytes: message.length, ip: request.ip, isSave: true }
    const id = known ?? `hook_${randomBytes(12).toString('base64url')}`
    const made = known === null ? secrets.create() : { seed: '', keyId: '' }
    await options.quota(written, async () => {
      const result = await hooks.set(
        writeOf(checked),
        { id, merchantId, url: target.href, types, ...made },
        { since, most: MAX_HOOKS, now: now() },
      )
      if (result.state !== 'done') throw faultOf(result, checked.merchant)
    })
    // The secret of a new webhook is shown only here.
    const secret = known === null ? secrets.of(made) : undefined
    return { id, secret: secret === undefined ? null : writeSecret(secret) }
  })

  app.delete<OfMerchant>(path, { bodyLimit, ...describedAs(removeOperation) }, async (request) => {
    const merchantId = request.params.id
    const actions = { standing: 'hook.delete' } as const
    const checked = await check(request.body, { merchantId, actions, schema: hookRemoval })
    const result = await hooks.remove(writeOf(checked), checked.body.id, now())
    if (result.state !== 'done') throw faultOf(result, checked.merchant)
    return checked.body
  })

  app.post<OfMerchant>(
    `${path}/check`,
    { bodyLimit, ...describedAs(targetOperation) },
    async (request) => {
      await requireOwner(request, options)
      const { url } = parseBody(hookTargetBody, request.body)
      return { url: allowedTarget(url, options.rules).href }
    },
  )

  app.post<OfMerchant>(
    `${path}/test`,
    { bodyLimit, ...describedAs(testOperation) },
    async (request) => {
      const merchant = await requireOwner(request, options)
      const { id } = parseBody(hookRemoval, request.body)
      const hook = (await hooks.ofMerchant(merchant.id)).find((it) => it.id === id)
      if (hook === undefined) throw unknownHook()
      if (hook.confirmedAt === null || hook.parked !== null) {
        const text = 'A test goes only to a receiver that answered its challenge and takes events.'
        throw new WriteFault('hook_not_confirmed', text)
      }
      const isOften = tests.of(id) >= MAX_TESTS
      if (isOften || underTest.has(id)) {
        const text = isOften
          ? `A webhook is tested at most ${MAX_TESTS} times within an hour.`
          : 'This webhook is being tested.'
        throw new WriteFault('tested_recently', text, undefined, isOften ? tests.secondsLeft() : 1)
      }
      tests.add(id, 1)
      underTest.add(id)
      try {
        return { call: toCallView(await options.test(hook)) }
      } finally {
        underTest.delete(id)
      }
    },
  )
}

/** Returns the URL as it is called. Throws the fault of a body with a URL that never is. */
function allowedTarget(url: string, rules: TargetRules): URL {
  const target = checkTarget(url, rules)
  if (target.isAllowed) return target.url
  throw listingFault([{ path: 'url', message: `cannot be called: ${target.message}` }])
}

function writeOf({ write }: CheckedWrite<unknown>): HookWrite {
  const { merchantId, owner, nonce, message } = write
  return { merchantId, owner, nonce, deadline: JSON.parse(message).deadline }
}

function faultOf(result: HookResult, merchant: Merchant | undefined): WriteFault {
  const { state } = result
  if (state === 'replayed') return replayFault()
  if (state === 'tooSoon') {
    const seconds = Math.ceil(result.waitMs / 1_000)
    const text = `Events are sent again once in ten minutes, for all webhooks of an owner together; try again in ${seconds} seconds. Without \`since\` the change is possible now.`
    return new WriteFault('replayed_recently', text, undefined, seconds)
  }
  if (state === 'full') {
    return new WriteFault('too_many_hooks', `A merchant has at most ${MAX_HOOKS} webhooks.`)
  }
  if (state === 'missing') {
    return unknownHook()
  }
  return merchant === undefined ? missingFault(merchant) : ownerFault(false)
}

const unknownHook = () =>
  new WriteFault('hook_not_found', 'The merchant has no webhook with this id.')

const toCallView = (call: HookCall): HookCallView => ({
  ...call,
  at: new Date(call.at).toISOString(),
})

function toView(hook: Hook): HookView {
  const { id, url, types, cursor, failures, lastError, isLossy } = hook
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  return {
    id,
    url,
    types,
    cursor,
    failures,
    lastError,
    isLossy,
    state: stateOf(hook),
    createdAt: new Date(hook.createdAt).toISOString(),
    deliveredAt: time(hook.deliveredAt),
    nextAt: failures > 0 ? time(hook.nextAt) : null,
    calls: hook.calls.map(toCallView),
  }
}

function stateOf({ confirmedAt, parked, failures }: Hook): HookView['state'] {
  if (confirmedAt === null) return 'unconfirmed'
  if (parked !== null) return 'parked'
  return failures > 0 ? 'retrying' : 'active'
}
