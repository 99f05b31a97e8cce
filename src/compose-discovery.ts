import type { FastifyInstance } from 'fastify'
import {
  createDiscoveryAnswers,
  type DiscoveryAnswers,
  type Question,
} from './discovery/answers.js'
import { createThreadedAnswers } from './discovery/answers-thread.js'
import { type CatalogAnswers, createCatalogAnswers } from './discovery/catalog-answers.js'
import { createCatalogIndex } from './discovery/catalog-index.js'
import { createCatalogSearch } from './discovery/catalog-search.js'
import { readMerchantPage } from './discovery/merchant-page.js'
import { discoveryRoutes } from './discovery/routes.js'
import { createTurns } from './discovery/turns.js'
import type { ListingReader } from './store/listings.js'
import { scriptBeside } from './store/thread.js'

export interface ComposedDiscovery extends DiscoveryAnswers {
  /** The same from parameters as they were written, kept while nothing changes. */
  answers: CatalogAnswers
  routes(app: FastifyInstance): Promise<void>
}

export interface DiscoveryWorld {
  /** Of `Stores`: what a thread may read by itself. */
  threadSource: string | undefined
  /** Whether other processes use the same database, which is then a journey away. */
  isShared: boolean
  store: ListingReader
  onFault: (error: unknown) => void
}

/** Builds discovery: on a thread of its own, or on this one over a database in memory. */
export function composeDiscovery(world: DiscoveryWorld): ComposedDiscovery {
  const { threadSource, store } = world
  const made = threadSource === undefined ? hereOver(world) : onThread(threadSource, world)
  const answers = createCatalogAnswers({ answers: made, listings: store })
  return {
    ...made,
    answers,
    routes: async (app) => {
      await app.register(discoveryRoutes, { answers })
    },
  }
}

function onThread(source: string, { store, isShared, onFault }: DiscoveryWorld): DiscoveryAnswers {
  const script = scriptBeside(import.meta.url, 'discovery-thread')
  const answerHere = (question: Question) => readMerchantPage(store, question)
  return createThreadedAnswers({ script, source, onFault, ...(!isShared && { answerHere }) })
}

function hereOver({ store, onFault }: DiscoveryWorld): DiscoveryAnswers {
  const turns = createTurns()
  const index = createCatalogIndex({ source: store, turns, onFault })
  return createDiscoveryAnswers({ index, search: createCatalogSearch(turns), items: store, turns })
}
