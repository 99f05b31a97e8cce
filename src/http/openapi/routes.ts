import { readFileSync } from 'node:fs'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { sendCached, toCachedBody } from '../cached-reply.js'
import { docsOperation, openApiOperation } from '../operations.js'
import { describedAs } from '../route-config.js'
import { type DescribedRoute, writeDocument } from './document.js'
import { pageHeaders, renderPage } from './page.js'

const packageFile = new URL('../../../package.json', import.meta.url)

/**
 * `GET /openapi.json` and, for people, `GET /docs`: the description of every route that says what it does. Call it
 * before the routes it describes; `servers` are the public addresses.
 */
export function installOpenApi(app: FastifyInstance, { servers }: { servers: readonly string[] }) {
  const routes: DescribedRoute[] = []
  app.addHook('onRoute', (route) => void routes.push(...describe(route)))

  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  const write = once(() => writeDocument(routes, { version, servers }))
  const json = once(() => toCachedBody(JSON.stringify(write())))
  const page = once(() => toCachedBody(renderPage(write())))

  app.get('/openapi.json', describedAs(openApiOperation), (request, reply) =>
    sendCached(request, reply, json()),
  )
  app.get('/docs', describedAs(docsOperation), (request, reply) => {
    reply.headers(pageHeaders).type('text/html; charset=utf-8')
    return sendCached(request, reply, page())
  })
}

function describe({ method, url, config }: RouteOptions): DescribedRoute[] {
  const { operation, ...facts } = config ?? {}
  if (operation === undefined) return []
  const methods = [method].flat().filter((name) => name !== 'HEAD')
  return methods.map((name) => ({ ...facts, method: name, url, operation }))
}

/** All routes are known when the first request comes, and none is added later. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}
