import { pino } from 'pino'
import { createDiscoveryAnswers } from '../../src/directory/discovery/answers.js'
import { createDiscoveryBodies } from '../../src/directory/discovery/discovery.js'
import { discoveryRoutes } from '../../src/directory/discovery/routes.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { installCors } from '../../src/http/headers.js'
import { installNotFound } from '../../src/http/not-found.js'
import { createServer } from '../../src/http/server.js'
import { aCatalog, type CatalogChoices, whenReady } from '../unit/discovery/a-catalog.js'

interface DiscoveryChoices extends CatalogChoices {
  /** Leaves it to the test to read the catalog. */
  isLoading?: boolean
  loadingPatienceMs?: number
}

/** The discovery routes over an empty catalog in memory. */
export async function aDiscoveryServer({ isLoading = false, ...choices }: DiscoveryChoices = {}) {
  const { sql, store, catalog } = await aCatalog(choices)
  const app = createServer({
    logger: pino({ level: 'silent' }),
    bodyLimitBytes: 10_000,
    settleWaitSeconds: 1,
    trustProxy: false,
  })
  installErrorHandling(app)
  installNotFound(app)
  await installCors(app)
  const made = createDiscoveryAnswers({ ...choices, catalog, items: store })
  const answers = createDiscoveryBodies({ answers: made, listings: store })
  await app.register(discoveryRoutes, { answers })
  app.addHook('onClose', () => catalog.stop())
  if (!isLoading) await whenReady(catalog)
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  return { app, sql, store, catalog, get }
}
