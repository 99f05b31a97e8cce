import { randomBytes } from 'node:crypto'
import { singleFlight } from '../../async/single-flight.js'
import { DAY_MS, toSeconds } from '../../async/time.js'
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
import { createHookPlaces, type HookGroup } from './hook-concurrency.js'

interface HookSenderOptions extends Pick<SharedPorts, 'isShared' | 'now'> {
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

/** A delivery that lasts longer moves its hook to the slow ones, where the next delivery of the hook begins. */
const SLOW_MS = 1_000
/** A hook gives its delivery slot up after this time. A call ends within 10 s, so the lease outlives the last delivery. */
const TURN_MS = 1_000
const LEASE_MS = 30_000
const EVENTS_AT_ONCE = 20
/** The pause doubles with each failure, from a second to six hours, for three days. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 6 * 3_600_000
const PATIENCE_MS = 3 * DAY_MS
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
export class HookSender {
  readonly #options: HookSenderOptions
  readonly #places = createHookPlaces()
  /** Whether a delivery slot became free since the last look began. */
  #isStale = false
  #isPrepared = false
  #isStopped = false
  readonly #lookOnce = singleFlight(() => this.#look())

  constructor(options: HookSenderOptions) {
    this.#options = options
  }

  /** Begins the deliveries that are due. A look that is under way already serves this call too. */
  look(): Promise<void> {
    return this.#lookOnce()
  }

  /** Begins nothing more; resolves when the deliveries under way have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#lookOnce.underWay()?.catch(() => undefined)
    await this.#places.untilEmpty()
  }

  /**
   * Sends an event of the type `test` to a receiver that answered its challenge, and resolves with the call. It is in no
   * feed: nothing waits for it, and it is sent once.
   */
  async test(hook: Hook): Promise<HookCall> {
    const { merchantId, cursor } = hook
    const id = `test_${randomBytes(18).toString('base64url')}`
    const timestamp = new Date(this.#options.now()).toISOString()
    const message = { id, cursor, type: 'test' as const, timestamp, data: { merchantId } }
    const outcome = await this.#deliver(hook, message)
    const call = { ...this.#toCall(hook, message, outcome), attempt: 1 }
    await this.#options.hooks.tested(hook, call)
    return call
  }

  async #look(): Promise<void> {
    if (!this.#isPrepared) await this.#prepare()
    do {
      this.#isStale = false
      for (const group of this.#places.groups) await this.#fill(group)
    } while (this.#isStale && !this.#isStopped)
  }

  async #prepare(): Promise<void> {
    const { hooks, operator, isShared, now } = this.#options
    // The leases of a process that was killed would only hold its successor up.
    if (!isShared) await hooks.freeAll()
    await hooks.setOperator(operator?.url, now())
    this.#isPrepared = true
  }

  /** Begins work for hooks of a group until it has no free slot, or no hook. */
  async #fill(group: HookGroup): Promise<void> {
    while (!this.#isStopped) {
      const hook = await this.#takeNext(group)
      if (hook === undefined) return
      this.#begin(hook, group)
    }
  }

  /** Takes the hook that is next in a group; `undefined` if there is no free slot or no hook. */
  async #takeNext(group: HookGroup): Promise<Hook | undefined> {
    const { hooks, worker, now } = this.#options
    let hook = await this.#findNext(group)
    // Each owner was served once: another round begins.
    if (hook === undefined && this.#places.endRound(group)) hook = await this.#findNext(group)
    return hook && hooks.take(hook.id, worker, now(), now() + LEASE_MS)
  }

  async #findNext(group: HookGroup) {
    const filter = this.#places.filterFor(group)
    return filter && this.#options.hooks.nextDue({ now: this.#options.now(), ...filter })
  }

  #begin(hook: Hook, group: HookGroup): void {
    const work = this.#workFor(hook)
      .catch((err) =>
        this.#options.log.warn({ err, hook: hook.id }, 'a webhook could not be served'),
      )
      .finally(() => {
        this.#places.leave(hook)
        this.#lookAgain()
      })
    this.#places.enter(hook, group, work)
  }

  /** Looks at once, because a delivery slot became free. */
  #lookAgain(): void {
    this.#isStale = true
    if (this.#isStopped || this.#lookOnce.underWay() !== undefined) return
    this.#lookOnce().catch((err) =>
      this.#options.log.warn({ err }, 'webhooks could not be read; trying again'),
    )
  }

  async #workFor(hook: Hook): Promise<void> {
    if (hook.confirmedAt === null) return this.#challenge(hook)
    const { hooks, events, worker, now } = this.#options
    const endsAt = now() + TURN_MS
    const { id, merchantId, types } = hook
    for (let since = hook.cursor; ; ) {
      const waiting = await events.list({ merchantId, types, since, limit: EVENTS_AT_ONCE })
      for (const event of waiting) {
        if (this.#isStopped || now() >= endsAt) return this.#giveUp(hook)
        const notice = toEventJson(event)
        const outcome = await this.#deliverTimed(hook, notice)
        // A call that our own end cut short says nothing about the receiver.
        if (outcome.error !== null && this.#isStopped) return this.#giveUp(hook)
        const call = this.#toCall(hook, { id: notice.id, type: event.type }, outcome)
        if (outcome.error !== null) return this.#keepFailure(hook, call, outcome.error)
        // The owner may have changed or removed the hook meanwhile.
        if (!(await hooks.delivered(id, worker, event.id, call))) return
        Object.assign(hook, { failures: 0, failingSince: null })
        since = event.id
      }
      if (waiting.length < EVENTS_AT_ONCE) return this.#giveUp(hook)
    }
  }

  async #challenge(hook: Hook): Promise<void> {
    const message = createChallenge(this.#options.now())
    const answer = await this.#send(hook, message, {
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
    if (this.#isStopped && outcome.error !== null) return this.#giveUp(hook)
    const call = this.#toCall(hook, message, outcome)
    if (outcome.error !== null) return this.#keepFailure(hook, call, outcome.error)
    await this.#options.hooks.confirm(hook, this.#options.worker, call)
    await this.#giveUp(hook)
  }

  /** Makes a delivery, and keeps whether it was slow. */
  async #deliverTimed(hook: Hook, message: { id: string }): Promise<CallOutcome> {
    const timer = setTimeout(() => this.#places.markSlow(hook), SLOW_MS)
    this.#places.markQuick(hook)
    try {
      return await this.#deliver(hook, message)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Sends a message as soon as the pace of its owner and its host allows, and resolves with how the receiver took it. */
  async #deliver(hook: Hook, message: { id: string }): Promise<CallOutcome> {
    await this.#places.untilTurn(hook)
    const answer = await this.#send(hook, message)
    if (answer === undefined) return unsignable
    const status = headOf(answer)?.status ?? null
    if (status !== null && status >= 200 && status < 300) return { status, error: null }
    const error = 'message' in answer ? answer.message : `The receiver answered ${status}.`
    return { status, error }
  }

  /** Sends a signed message and resolves with the answer; `undefined` without a secret. */
  async #send(hook: Hook, message: { id: string }, limits: Partial<GuardedRequest> = {}) {
    const { operator, secrets, userAgent, now } = this.#options
    const isOperator = hook.id === OPERATOR_HOOK
    const secret = isOperator ? operator?.secret : secrets.of(hook)
    if (secret === undefined) return undefined
    const body = JSON.stringify(message)
    const signed = signMessage(secret, { id: message.id, seconds: toSeconds(now()), text: body })
    const headers = { ...signed, 'user-agent': userAgent }
    const { fetch } = (isOperator && operator) || this.#options
    return fetch({ url: hook.url, method: 'POST', body, accept: '*/*', headers, ...limits })
  }

  #toCall(
    { failures }: Hook,
    { id: event, type }: { id: string; type: HookCall['type'] },
    { status, error }: CallOutcome,
  ): HookCall {
    return { at: this.#options.now(), event, type, status, error, attempt: failures + 1 }
  }

  async #keepFailure(hook: Hook, call: HookCall, error: string): Promise<void> {
    const { hooks, worker, now } = this.#options
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

  /** Gives the lease of a hook back, so that other processes may make its next delivery. */
  #giveUp(hook: Hook): Promise<void> {
    const { hooks, worker, now } = this.#options
    return hooks.giveUp(hook, worker, now())
  }
}

/** How the receiver of a call took it. */
interface CallOutcome {
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
