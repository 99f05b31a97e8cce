import type { FastifyInstance } from 'fastify'
import { createDiscoveryAnswers, type DiscoveryAnswers } from './discovery/answers.js'
import { createThreadedAnswers } from './discovery/answers-thread.js'
import { type CatalogAnswers, createCatalogAnswers } from './discovery/catalog-answers.js'
import { createCatalogReader } from './discovery/catalog-reader.js'
import { createPace, createUrgency } from './discovery/pace.js'
import { discoveryRoutes } from './discovery/routes.js'
import type { ListingReader } from './store/listings.js'
import { scriptBeside } from './store/thread.js'

export interface ComposedDiscovery extends DiscoveryAnswers {
  /** Makes answers from the parameters as they were written, and keeps them while nothing changes. */
  answers: CatalogAnswers
  routes(app: FastifyInstance): Promise<void>
}

export interface DiscoveryWorld {
  /** `Stores.threadSource`: the database that a thread may read by itself. */
  threadSource: string | undefined
  store: ListingReader
  onFault: (error: unknown) => void
}

/** Builds discovery: on a thread of its own, or on this one over a database in memory, which no thread can share. */
export function composeDiscovery({
  threadSource: source,
  store,
  onFault,
}: DiscoveryWorld): ComposedDiscovery {
  const script = scriptBeside(import.meta.url, 'discovery-thread')
  const made =
    source === undefined
      ? answersHere(store, onFault)
      : createThreadedAnswers({ script, source, onFault })
  const answers = createCatalogAnswers({ answers: made, listings: store })
  return {
    ...made,
    answers,
    routes: async (app) => {
      await app.register(discoveryRoutes, { answers })
    },
  }
}

function answersHere(store: ListingReader, onFault: DiscoveryWorld['onFault']): DiscoveryAnswers {
  const urgency = createUrgency()
  const pace = createPace(urgency)
  const catalog = createCatalogReader({ source: store, pace, onFault })
  const { start, stop, figures } = catalog
  const { answer } = createDiscoveryAnswers({ catalog, items: store, pace })
  return { start, stop, figures, answer, giveWay: urgency.raise }
}
