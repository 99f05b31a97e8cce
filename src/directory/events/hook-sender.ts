import { randomBytes } from 'node:crypto'
import { createPolling } from '../../async/polling.js'
import { singleFlight } from '../../async/single-flight.js'
import type { SharedPorts } from '../ports.js'
import {
  type GuardedAnswer,
  type GuardedFetch,
  type GuardedRequest,
  headOf,
} from '../probe/guarded-fetch.js'
import type { EventStore } from '../store/events.js'
import { type Hook, type HookCall, type HookStore, OPERATOR_HOOK } from '../store/hooks.js'
import { type HookSecrets, signMessage, toEventJson } from './event-messages.js'
import { createHookPlaces, type Group } from './hook-concurrency.js'

interface HookSenderOptions extends Pick<SharedPorts, 'isShared' | 'now' | 'lookMs'> {
  hooks: HookStore
  events: Pick<EventStore, 'list'>
  secrets: HookSecrets
  /** Calls addresses of strangers. */
  fetch: GuardedFetch
  /** The operator's own webhook, which may be in a private network. */
  operator: { url: string; secret: Buffer; fetch: GuardedFetch } | undefined
  /** Names this process to others. */
  worker: string
  userAgent: string
  log: { warn(details: object, message: string): void }
}

const TICK_MS = 1_000
/** A delivery that lasts longer moves its hook to the slow ones, where the next turn of the hook begins. */
const SLOW_MS = 1_000
/** A hook gives its place up after so long. A call ends within 10 s, so the lease outlives the last delivery. */
const TURN_MS = 1_000
const LEASE_MS = 30_000
const EVENTS_AT_ONCE = 20
/** The pause doubles with each failure, from a second to six hours, for three days. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 6 * 3_600_000
const PATIENCE_MS = 3 * 86_400_000
/**
 * A challenge is sent so often, within three quarters of an hour: the receiver can check its signature only once the owner
 * has put the secret there.
 */
const CHALLENGE_TRIES = 10
const CHALLENGE_PAUSE_MS = 5_000
const CHALLENGE_MS = 5_000
const GONE = 410

/**
 * Delivers the feeds to webhooks, each in order: an event is repeated until the receiver takes it, and only then the next
 * one comes. A receiver gets nothing but challenges until it has answered one.
 */
export function createHookSender(options: HookSenderOptions) {
  const { hooks, events, worker, now, log } = options
  const places = createHookPlaces()
  /** Whether a place became free since the last look began. */
  let isStale = false
  let isPrepared = false
  let isStopped = false

  async function prepare(): Promise<void> {
    // The leases of a process that was killed would only hold its successor up.
    if (!options.isShared) await hooks.freeAll()
    await hooks.setOperator(options.operator?.url, now())
    isPrepared = true
  }

  /** Sends a signed message and resolves with the answer; `undefined` without a secret. */
  async function send(hook: Hook, message: { id: string }, limits: Partial<GuardedRequest> = {}) {
    const isOperator = hook.id === OPERATOR_HOOK
    const secret = isOperator ? options.operator?.secret : options.secrets.of(hook)
    if (secret === undefined) return undefined
    const body = JSON.stringify(message)
    const seconds = Math.floor(now() / 1_000)
    const signed = signMessage(secret, { id: message.id, seconds, text: body })
    const headers = { ...signed, 'user-agent': options.userAgent }
    const { fetch } = (isOperator && options.operator) || options
    return fetch({ url: hook.url, method: 'POST', body, accept: '*/*', headers, ...limits })
  }

  /** Sends a message in the turn of its owner and its host, and resolves with how the receiver took it. */
  async function deliver(hook: Hook, message: { id: string }): Promise<Outcome> {
    await places.untilTurn(hook)
    const answer = await send(hook, message)
    if (answer === undefined) return unsignable
    const status = headOf(answer)?.status ?? null
    if (status !== null && status >= 200 && status < 300) return { status, error: null }
    const error = 'message' in answer ? answer.message : `The receiver answered ${status}.`
    return { status, error }
  }

  /** Makes a delivery, and keeps whether it was slow. */
  async function deliverTimed(hook: Hook, message: { id: string }): Promise<Outcome> {
    const timer = setTimeout(() => places.markSlow(hook), SLOW_MS)
    places.markQuick(hook)
    try {
      return await deliver(hook, message)
    } finally {
      clearTimeout(timer)
    }
  }

  const toCall = (
    { failures }: Hook,
    { id: event, type }: { id: string; type: HookCall['type'] },
    { status, error }: Outcome,
  ): HookCall => ({ at: now(), event, type, status, error, attempt: failures + 1 })

  async function challenge(hook: Hook): Promise<void> {
    const message = createChallenge(now())
    const answer = await send(hook, message, {
      bodyBytes: CHALLENGE_ANSWER_BYTES,
      times: { totalMs: CHALLENGE_MS },
    })
    const outcome =
      answer === undefined
        ? unsignable
        : {
            status: headOf(answer)?.status ?? null,
            error: whyNotAnswered(message, answer) ?? null,
          }
    // A call that our own end cut short says nothing about the receiver.
    if (isStopped && outcome.error !== null) return hooks.giveUp(hook, worker, now())
    const call = toCall(hook, message, outcome)
    if (outcome.error !== null) return keepFailure(hook, call, outcome.error)
    await hooks.confirm(hook, worker, call)
    await hooks.giveUp(hook, worker, now())
  }

  async function keepFailure(hook: Hook, call: HookCall, error: string): Promise<void> {
    // Trying again is of no use where the receiver is gone or the secret is lost.
    const isFinal = call.status === GONE || error === unsignable.error
    const isConfirmed = hook.confirmedAt !== null
    const first = isConfirmed ? FIRST_PAUSE_MS : CHALLENGE_PAUSE_MS
    const pause = Math.min(first * 2 ** hook.failures, LONGEST_PAUSE_MS)
    const nextAt = now() + Math.round(pause * (1 + Math.random() / 10))
    const isOver = isConfirmed
      ? now() - (hook.failingSince ?? now()) >= PATIENCE_MS
      : hook.failures + 1 >= CHALLENGE_TRIES
    const ends = isFinal || isOver ? null : nextAt
    await hooks.failed(hook.id, worker, { error, nextAt: ends, call })
  }

  async function workFor(hook: Hook): Promise<void> {
    if (hook.confirmedAt === null) return challenge(hook)
    const endsAt = now() + TURN_MS
    const { id, merchantId, types } = hook
    for (let since = hook.cursor; ; ) {
      const waiting = await events.list({ merchantId, types, since, limit: EVENTS_AT_ONCE })
      for (const event of waiting) {
        if (isStopped || now() >= endsAt) return hooks.giveUp(hook, worker, now())
        const notice = toEventJson(event)
        const outcome = await deliverTimed(hook, notice)
        // A call that our own end cut short says nothing about the receiver.
        if (outcome.error !== null && isStopped) return hooks.giveUp(hook, worker, now())
        const call = toCall(hook, { id: notice.id, type: event.type }, outcome)
        if (outcome.error !== null) return keepFailure(hook, call, outcome.error)
        // The owner may have changed or removed the hook meanwhile.
        if (!(await hooks.delivered(id, worker, event.id, call))) return
        Object.assign(hook, { failures: 0, failingSince: null })
        since = event.id
      }
      if (waiting.length < EVENTS_AT_ONCE) return hooks.giveUp(hook, worker, now())
    }
  }

  function start(hook: Hook, group: Group): void {
    const work = workFor(hook)
      .catch((err) => log.warn({ err, hook: hook.id }, 'a webhook could not be served'))
      .finally(() => {
        places.leave(hook)
        lookAgain()
      })
    places.enter(hook, group, work)
  }

  /** Takes the hook that is next in a group; `undefined` if there is no place or no hook. */
  async function takeNext(group: Group): Promise<Hook | undefined> {
    const find = async () => {
      const filter = places.filterFor(group)
      return filter && hooks.nextDue({ now: now(), ...filter })
    }
    let hook = await find()
    // Each owner has had a turn: another round begins.
    if (hook === undefined && places.endRound(group)) hook = await find()
    return hook && hooks.take(hook.id, worker, now(), now() + LEASE_MS)
  }

  async function look(): Promise<void> {
    if (!isPrepared) await prepare()
    do {
      isStale = false
      for (const group of places.groups) {
        while (!isStopped) {
          const hook = await takeNext(group)
          if (hook === undefined) break
          start(hook, group)
        }
      }
    } while (isStale && !isStopped)
  }

  const lookOnce = singleFlight(look)

  const onError = (err: unknown) => log.warn({ err }, 'webhooks could not be read; trying again')

  function lookAgain(): void {
    isStale = true
    if (!isStopped && lookOnce.underWay() === undefined) lookOnce().catch(onError)
  }

  const polling = createPolling({ everyMs: options.lookMs ?? TICK_MS, poll: lookOnce, onError })

  return {
    /**
     * Sends an event of the type `test` to a receiver that answered its challenge, and resolves with the call. It is in no
     * feed: nothing waits for it, and it is sent once.
     */
    async test(hook: Hook): Promise<HookCall> {
      const { merchantId, cursor } = hook
      const id = `test_${randomBytes(18).toString('base64url')}`
      const timestamp = new Date(now()).toISOString()
      const message = { id, cursor, type: 'test' as const, timestamp, data: { merchantId } }
      const call = { ...toCall(hook, message, await deliver(hook, message)), attempt: 1 }
      await hooks.tested(hook, call)
      return call
    },
    start: polling.start,
    async stop(): Promise<void> {
      isStopped = true
      await polling.stop()
      await lookOnce.underWay()?.catch(() => undefined)
      await places.untilEmpty()
    },
  }
}

interface Outcome {
  /** HTTP status; `null` without an answer. */
  status: number | null
  /** One sentence for the owner; `null` if the receiver took the message. */
  error: string | null
}

const unsignable = {
  status: null,
  error:
    'The key of the service changed, and the secret is lost: remove the webhook and add it again.',
}

/** Longest answer to a challenge, in bytes. */
const CHALLENGE_ANSWER_BYTES = 4 * 1024

/** Makes a message that asks a receiver whether it wants what a webhook sends. `now` is in Unix milliseconds. */
function createChallenge(now: number) {
  const random = () => randomBytes(24).toString('base64url')
  // The id stands before the challenge, so that whatever repeats the start of a request repeats the id too.
  return {
    id: `chal_${random()}`,
    type: 'challenge' as const,
    timestamp: new Date(now).toISOString(),
    challenge: random(),
  }
}

/**
 * Returns why an answer is no consent; `undefined` if it is one: a status from 200 to 299, and a body with the text of the
 * challenge. A body with the id as well is the request itself, which a host that echoes anything sends back.
 */
function whyNotAnswered(
  { id, challenge }: Pick<ReturnType<typeof createChallenge>, 'id' | 'challenge'>,
  answer: GuardedAnswer,
): string | undefined {
  if (answer.kind !== 'answer') return answer.message
  const status = headOf(answer)?.status ?? 0
  if (status < 200 || status >= 300) return `The receiver answered the challenge with ${status}.`
  if (!answer.body.includes(challenge)) {
    return `The receiver answered the challenge with ${status}, and without its text.`
  }
  if (!answer.body.includes(id)) return undefined
  return 'The receiver sent the whole challenge back; the answer must have the text of `challenge` alone.'
}
