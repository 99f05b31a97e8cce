import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Hex } from 'viem'
import { createAttributor } from '../activity/attribution.js'
import type { WriteCheck, WriteQuota } from '../listings/signed-write.js'
import type { SharedPorts } from '../ports.js'
import { createGuardedFetch, type GuardedFetch } from '../probe/guarded-fetch.js'
import type { TargetRules } from '../probe/target-rules.js'
import type { Sessions } from '../session/sign-in.js'
import type { DecidedPayment } from '../store/events.js'
import type { DirectoryStores } from '../store/stores.js'
import { createEventCollector, type JournalPayment } from './collector.js'
import { createHookSecrets } from './event-messages.js'
import { HookSender } from './hook-sender.js'
import { eventRoutes, hookRoutes } from './routes.js'

export interface EventsWorld extends SharedPorts {
  /** The public address of this service. */
  baseUrl: string
  /** The key that encrypts the secrets of webhooks; `undefined` where there are no webhooks. */
  webhookKey: Hex | undefined
  /** A receiver of news for the operator. */
  operatorWebhook: { url: string; secret: Buffer } | undefined
  stores: Pick<DirectoryStores, 'listings' | 'events' | 'hooks'>
  /** Reads a payment from the facilitator's table of payments. */
  readPayment(payment: DecidedPayment): JournalPayment
  sessions: Sessions
  check: WriteCheck
  quota: WriteQuota
  rules: TargetRules
  /** Calls addresses of strangers. */
  fetch: GuardedFetch
  log: FastifyBaseLogger
}

/** Builds the feeds of merchants and the webhooks that follow them. */
export function createEvents(world: EventsWorld) {
  const { baseUrl, stores, sessions } = world
  const { listings, events, hooks } = stores
  const { webhookKey, operatorWebhook } = world
  const stopping = new AbortController()
  const collector = createEventCollector({
    ...world,
    store: events,
    attributor: createAttributor(listings),
    listings,
  })
  const secrets = createHookSecrets(webhookKey)
  // The operator may name a receiver in this service's private network.
  const anywhere = { allowPrivateHosts: true, ownOrigins: [] }
  const fetch = createGuardedFetch({ ...anywhere, baseUrl, signal: stopping.signal })
  const sender = new HookSender({
    ...world,
    hooks,
    events,
    secrets,
    operator: operatorWebhook && { ...operatorWebhook, fetch },
    worker: randomUUID(),
    userAgent: `Arcus-Webhook/1 (+${baseUrl})`,
  })
  return {
    async routes(app: FastifyInstance): Promise<void> {
      await app.register(eventRoutes, { store: events, listings, sessions })
      await app.register(hookRoutes, {
        ...world,
        hooks,
        listings,
        secrets,
        test: (hook) => sender.test(hook),
      })
    },
    collector,
    sender,
    /** Ends the deliveries under way. */
    async stop(): Promise<void> {
      const stopped = sender.stop()
      stopping.abort()
      await stopped
    },
  }
}
