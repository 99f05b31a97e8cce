import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ASK_AGAIN, dashboardHeaders, FOREVER } from './dashboard-headers.js'
import type { AnswerPage } from './not-found.js'

export interface DashboardOptions {
  /** What `npm run build` made; `builtDashboard` unless said. */
  folder?: string
  /** `BASE_URL` and `DIRECTORY_URL`: pages belong to the second. */
  baseUrl: string
  directoryUrl: string
}

/** The web console as this process serves it. */
export interface Dashboard {
  isBuilt: boolean
  /** Adds its files as routes; await it before the server starts. */
  install(app: FastifyInstance): Promise<void>
  /** Answers a deep link with the page, which reads the rest of the address itself. */
  answerPage: AnswerPage
}

/** The same folder seen from `src/http` and from `dist/http`. */
export const builtDashboard = fileURLToPath(new URL('../../dist/dashboard/', import.meta.url))

const PAGE = 'index.html'
const ASSETS = 'assets'
const COMPRESSED = /\.(br|gz)$/
const NOT_BUILT =
  'The console is not built. Run "npm run build" and start the service again; its API works without.\n'

/** Looks once for a build; without one every page says so in a sentence. */
export function openDashboard(options: DashboardOptions): Dashboard {
  const { folder = builtDashboard, baseUrl, directoryUrl } = options
  const isBuilt = existsSync(`${folder}/${PAGE}`)
  const headers = dashboardHeaders(directoryUrl.startsWith('https:'))
  const facilitator = new URL(baseUrl)
  const directory = new URL(directoryUrl)

  /** Wallets sign for the directory's own address, so its pages are shown nowhere else. */
  const isElsewhere = (request: FastifyRequest) =>
    facilitator.host !== directory.host && request.host === facilitator.host

  function send(reply: FastifyReply, file: string, cacheControl: string): FastifyReply {
    return reply
      .headers({ ...headers, 'cache-control': cacheControl })
      .sendFile(file, folder, { cacheControl: false })
  }

  const answerPage: AnswerPage = (request, reply) => {
    if (isElsewhere(request)) {
      return reply
        .header('cache-control', 'no-store')
        .redirect(`${directory.origin}${request.url}`, 302)
    }
    if (isBuilt) return send(reply, PAGE, ASK_AGAIN)
    return reply
      .code(503)
      .headers({ ...headers, 'cache-control': 'no-store' })
      .type('text/plain; charset=utf-8')
      .send(NOT_BUILT)
  }

  return {
    isBuilt,
    answerPage,
    async install(app) {
      app.get('/', answerPage)
      if (!isBuilt) return
      await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true })
      const assets = new Set(filesIn(`${folder}/${ASSETS}`))
      app.get<{ Params: { '*': string } }>(`/${ASSETS}/*`, (request, reply) => {
        const name = request.params['*']
        // Before any header is set: that something is missing must not be kept for a year.
        if (!assets.has(name)) return reply.callNotFound()
        return send(reply, `${ASSETS}/${name}`, FOREVER)
      })
      for (const file of filesIn(folder)) {
        if (file === PAGE) continue
        app.get(`/${file}`, (_request, reply) => send(reply, file, ASK_AGAIN))
      }
    },
  }
}

/** Names of files, without what is there compressed as well. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !COMPRESSED.test(entry.name))
    .map(({ name }) => name)
}
