import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PageHead } from './html.js'

interface KnownPath {
  pattern: RegExp
  methods: Set<string>
}

/** Answers with the console: as it was built, or with a head of its own, and 200 unless said. */
export type AnswerPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  page?: { head?: PageHead; status?: number },
) => FastifyReply

/** The same, by a server that may be another one. */
export type OpenPage = (
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | Promise<FastifyReply>

/** The paths that another process serves. */
export interface Elsewhere {
  has(path: string): boolean
  /** The sentence of a 404, which says where they are served. */
  message: string
}

/**
 * Answers 404, or 405 with `Allow` if the path is known with another method. The answer is always plain, because no
 * family owns the request. A browser gets the 404 as `answerPage`, unless the address is below a route of the API.
 * Call it before the first route: it watches them being added. `isOwn` returns whether a path is below one of them; with
 * `rest` all others are answered by that, apart from those `elsewhere`.
 */
export function installNotFound(
  app: FastifyInstance,
  answerPage?: AnswerPage,
  rest?: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  elsewhere?: Elsewhere,
): { isOwn(path: string): boolean } {
  const knownPaths = new Map<string, KnownPath>()
  /** First segments of all routes but pages. */
  const ownSegments = new Set<string>()
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url === '*' || config?.isForwarded) return
    if (!config?.isPage) ownSegments.add(firstSegment(url))
    const known = knownPaths.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const name of [method].flat()) known.methods.add(name)
    knownPaths.set(url, known)
  })

  const isAway = (path: string) => elsewhere?.has(path) === true
  const isOwn = (path: string) => ownSegments.has(firstSegment(path)) || isAway(path)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    if (rest !== undefined && !isOwn(path)) return rest(request, reply)
    const allowed = [...knownPaths.values()]
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ methods }) => [...methods])
    const isPage = allowed.length === 0 && !isOwn(path)
    if (isPage && asksForPage(request) && answerPage !== undefined) {
      return answerPage(request, reply, { status: 404 })
    }
    // The route may exist, and the file behind it not.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      const isNamed = elsewhere !== undefined && allowed.length === 0 && isAway(path)
      const message = isNamed ? elsewhere.message : 'There is nothing at this path.'
      return reply.code(404).send({ error: 'not_found', message })
    }
    const allow = [...new Set(allowed)].sort().join(', ')
    return reply
      .code(405)
      .header('allow', allow)
      .send({ error: 'method_not_allowed', message: `This path answers ${allow} only.` })
  })
  return { isOwn }
}

/** Returns whether a browser opens an address as a page. */
export function asksForPage({ method, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && /\btext\/html\b/.test(headers.accept ?? '')
}

/** Returns `payments` for `/payments/:network`, and nothing for `/`. */
function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? ''
}

/** Turns a route such as `/payments/:network/*` into an expression over a raw path. */
function toPattern(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:[^/]+/g, '[^/]+')
    .replace(/\*/g, '.*')
    .replace(/\/$/, '')
  return new RegExp(`^${source}/?$`)
}
