import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { createAttributor } from '../directory/activity/attribution.js'
import { createEventCollector } from '../directory/events/collector.js'
import { hookRoutes } from '../directory/events/hook-routes.js'
import { createHookSecrets } from '../directory/events/hook-secrets.js'
import { createHookSender } from '../directory/events/hook-sender.js'
import { eventRoutes } from '../directory/events/routes.js'
import type { WriteCheck } from '../directory/listings/signed-write.js'
import type { WriteQuota } from '../directory/listings/write-limits.js'
import { createGuardedFetch, type GuardedFetch } from '../directory/probe/guarded-fetch.js'
import type { TargetRules } from '../directory/probe/target-rules.js'
import type { Sessions } from '../directory/session/sign-in.js'
import { readExactDetails } from '../facilitator/schemes/exact-job.js'
import type { Config } from './config/config.js'
import type { Secrets } from './config/secrets.js'
import type { Stores } from './stores/stores.js'

export interface EventsWorld {
  config: Pick<Config, 'baseUrl'>
  secrets: Pick<Secrets, 'webhookKey' | 'operatorWebhook'>
  stores: Pick<Stores, 'listings' | 'events' | 'hooks'>
  sessions: Sessions
  check: WriteCheck
  quota: WriteQuota
  rules: TargetRules
  /** Calls addresses of strangers. */
  fetch: GuardedFetch
  /** CAIP-2; listings are about it. */
  network: string
  /** Whether other processes may use the same database. */
  isShared: boolean
  checksum: (address: Address) => Address
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Builds the feeds of merchants and the webhooks that follow them. */
export function composeEvents(world: EventsWorld) {
  const { config, stores, sessions, isShared, now, log } = world
  const { listings, events, hooks } = stores
  const { webhookKey, operatorWebhook } = world.secrets
  const { baseUrl } = config
  const stopping = new AbortController()
  const collector = createEventCollector({
    ...world,
    store: events,
    attributor: createAttributor(listings),
    listings,
    readPayment: readExactDetails,
  })
  const secrets = createHookSecrets(webhookKey)
  // The operator may name a receiver in this service's private network.
  const anywhere = { allowPrivateHosts: true, ownOrigins: [] }
  const fetch = createGuardedFetch({ ...anywhere, baseUrl, signal: stopping.signal })
  const sender = createHookSender({
    ...{ hooks, events, secrets, isShared, now, log },
    fetch: world.fetch,
    operator: operatorWebhook && { ...operatorWebhook, fetch },
    worker: randomUUID(),
    userAgent: `Arcus-Webhook/1 (+${baseUrl})`,
  })
  return {
    async routes(app: FastifyInstance): Promise<void> {
      await app.register(eventRoutes, { store: events, listings, sessions })
      await app.register(hookRoutes, { ...world, hooks, listings, secrets, test: sender.test })
    },
    start(): void {
      collector.start()
      sender.start()
    },
    async stop(): Promise<void> {
      const stopped = Promise.all([collector.stop(), sender.stop()])
      stopping.abort()
      await stopped
    },
  }
}
