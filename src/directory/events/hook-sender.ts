import { LRUCache } from 'lru-cache'
import type { EventStore, StoredEvent } from '../../store/events.js'
import { type Hook, type HookStore, OPERATOR_HOOK } from '../../store/hooks.js'
import { createPolling } from '../../store/polling.js'
import { type GuardedFetch, headOf } from '../probe/guarded-fetch.js'
import { type HookSecrets, signMessage } from './hook-secrets.js'
import { toNotice } from './notice.js'

interface HookSenderOptions {
  hooks: HookStore
  events: Pick<EventStore, 'list'>
  secrets: HookSecrets
  /** Calls addresses of strangers. */
  fetch: GuardedFetch
  /** The operator's own webhook, which may be in a private network. */
  operator: { url: string; secret: Buffer; fetch: GuardedFetch } | undefined
  /** Names this process to others. */
  worker: string
  /** Whether other processes deliver too. */
  isShared: boolean
  userAgent: string
  /** Unix milliseconds, the same for all processes. */
  now: () => number
  /** For tests; a second otherwise. */
  tickMs?: number
  /** 0 to 1; `Math.random` unless a test gives another. */
  random?: () => number
  log: { warn(details: object, message: string): void }
}

const TICK_MS = 1_000
/** Hooks that this process works for at once. Those that failed last or are slow have places of their own and delay nobody. */
const places = { quick: 8, slow: 4, failing: 2 }
type Group = keyof typeof places
/** A delivery that lasts longer moves its hook to the slow ones, where the next turn of the hook begins. */
const SLOW_MS = 1_000
/** Bounds the hooks that are known to be slow, and with those that just became so all deliveries at once. */
const MAX_KNOWN_SLOW = 1_000
const MAX_UNDER_WAY = 24
/** A hook gives its place up after so long. A call ends within 10 s, so the lease outlives the last delivery. */
const TURN_MS = 10_000
const LEASE_MS = 30_000
const EVENTS_AT_ONCE = 20
/** The pause doubles with each failure, from a second to six hours, for three days. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 6 * 3_600_000
const PATIENCE_MS = 3 * 86_400_000
const GONE = 410

/**
 * Delivers the feeds to webhooks, each in order: an event is repeated until the receiver takes it, and only then the next
 * one comes.
 */
export function createHookSender(options: HookSenderOptions) {
  const { hooks, events, worker, now, log, random = Math.random } = options
  const underWay = new Map<string, { group: Group; work: Promise<void> }>()
  const slow = new LRUCache<string, true>({ max: MAX_KNOWN_SLOW })
  let isPrepared = false
  let isStopped = false

  async function prepare(): Promise<void> {
    // The leases of a process that was killed would only hold its successor up.
    if (!options.isShared) await hooks.freeAll()
    await hooks.setOperator(options.operator?.url, now())
    isPrepared = true
  }

  /** Resolves with why the receiver did not take the event; `undefined` if it did. */
  async function deliver(hook: Hook, event: StoredEvent): Promise<Failure | undefined> {
    const isOperator = hook.id === OPERATOR_HOOK
    const secret = isOperator ? options.operator?.secret : options.secrets.of(hook)
    if (secret === undefined) return unsignable
    const notice = toNotice(event)
    const body = JSON.stringify(notice)
    const seconds = Math.floor(now() / 1_000)
    const signed = signMessage(secret, { id: notice.id, seconds, text: body })
    const headers = { ...signed, 'user-agent': options.userAgent }
    const { fetch } = (isOperator && options.operator) || options
    const answer = await fetch({ url: hook.url, method: 'POST', body, accept: '*/*', headers })
    const status = headOf(answer)?.status
    if (status !== undefined && status >= 200 && status < 300) return undefined
    const error = 'message' in answer ? answer.message : `The receiver answered ${status}.`
    return { error, isFinal: status === GONE }
  }

  /** Makes a delivery and keeps whether it was slow. */
  async function deliverTimed(hook: Hook, event: StoredEvent): Promise<Failure | undefined> {
    const timer = setTimeout(() => {
      const place = underWay.get(hook.id)
      if (place?.group === 'quick') place.group = 'slow'
      slow.set(hook.id, true)
    }, SLOW_MS)
    slow.delete(hook.id)
    try {
      return await deliver(hook, event)
    } finally {
      clearTimeout(timer)
    }
  }

  async function keepFailure(hook: Hook, { error, isFinal }: Failure): Promise<void> {
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** hook.failures, LONGEST_PAUSE_MS)
    const nextAt = now() + Math.round(pause * (1 + random() / 10))
    const isOver = isFinal || now() - (hook.failingSince ?? now()) >= PATIENCE_MS
    await hooks.failed(hook.id, worker, { error, nextAt: isOver ? null : nextAt, now: now() })
  }

  async function workFor({ id }: Hook): Promise<void> {
    const hook = await hooks.take(id, worker, now(), now() + LEASE_MS)
    if (hook === undefined) return
    const endsAt = now() + TURN_MS
    const { merchantId, types } = hook
    for (let since = hook.cursor; ; ) {
      const waiting = await events.list({ merchantId, types, since, limit: EVENTS_AT_ONCE })
      for (const event of waiting) {
        if (isStopped || now() >= endsAt) return hooks.giveUp(hook, worker, now())
        const failure = await deliverTimed(hook, event)
        // A call that our own end cut short says nothing about the receiver.
        if (failure !== undefined && isStopped) return hooks.giveUp(hook, worker, now())
        if (failure !== undefined) return keepFailure(hook, failure)
        // The owner may have changed or removed the hook meanwhile.
        if (!(await hooks.delivered(id, worker, event.id, now()))) return
        Object.assign(hook, { failures: 0, failingSince: null })
        since = event.id
      }
      if (waiting.length < EVENTS_AT_ONCE) return hooks.giveUp(hook, worker, now())
    }
  }

  function start(hook: Hook, group: Group): void {
    const work = workFor(hook)
      .catch((err) => log.warn({ err, hook: hook.id }, 'a webhook could not be worked for'))
      .finally(() => underWay.delete(hook.id))
    underWay.set(hook.id, { group, work })
  }

  async function look(): Promise<void> {
    if (!isPrepared) await prepare()
    for (const group of ['quick', 'slow', 'failing'] as const) {
      const taken = [...underWay.values()].filter((it) => it.group === group).length
      const free = Math.min(places[group] - taken, MAX_UNDER_WAY - underWay.size)
      const isFailing = group === 'failing'
      const among = isFailing ? undefined : { ids: [...slow.keys()], isIn: group === 'slow' }
      const due = free > 0 ? await hooks.due(now(), free, isFailing, among) : []
      for (const hook of due) if (!isStopped && !underWay.has(hook.id)) start(hook, group)
    }
  }

  const polling = createPolling({
    everyMs: options.tickMs ?? TICK_MS,
    poll: look,
    onError: (err) => log.warn({ err }, 'webhooks could not be read; trying again'),
  })

  return {
    start: polling.start,
    async stop(): Promise<void> {
      isStopped = true
      await polling.stop()
      await Promise.all([...underWay.values()].map(({ work }) => work))
    },
  }
}

interface Failure {
  /** One sentence for the owner. */
  error: string
  /** True if trying again is of no use. */
  isFinal: boolean
}

const unsignable: Failure = {
  error:
    'The key of the service changed, and the secret is lost: remove the webhook and add it again.',
  isFinal: true,
}
