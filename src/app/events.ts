import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { createAttributor } from '../directory/activity/attribution.js'
import { createEventCollector } from '../directory/events/collector.js'
import { eventRoutes } from '../directory/events/routes.js'
import type { Sessions } from '../directory/session/sign-in.js'
import { readExactDetails } from '../facilitator/exact-job.js'
import type { Stores } from '../store/stores.js'

interface EventsWorld {
  stores: Pick<Stores, 'listings' | 'events'>
  sessions: Sessions
  /** CAIP-2; listings are about it. */
  network: string
  checksum: (address: Address) => Address
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Builds the feeds of merchants. */
export function composeEvents(world: EventsWorld) {
  const { stores, sessions } = world
  const { listings, events: store } = stores
  const collector = createEventCollector({
    ...world,
    store,
    listings,
    attributor: createAttributor(listings),
    readPayment: readExactDetails,
  })
  return {
    async routes(app: FastifyInstance): Promise<void> {
      await app.register(eventRoutes, { store, listings, sessions })
    },
    start: collector.start,
    stop: collector.stop,
  }
}
