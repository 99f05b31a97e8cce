import type { FastifyInstance } from 'fastify'

interface KnownPath {
  pattern: RegExp
  methods: Set<string>
}

/**
 * Answers 404, or 405 with `Allow` where the path is known with another method; always plain, as no family owns
 * the request. Call it before the first route: it watches them being added.
 */
export function installNotFound(app: FastifyInstance): void {
  const knownPaths = new Map<string, KnownPath>()
  app.addHook('onRoute', ({ url, method }) => {
    if (url === '*') return
    const known = knownPaths.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const name of [method].flat()) known.methods.add(name)
    knownPaths.set(url, known)
  })

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = [...knownPaths.values()]
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ methods }) => [...methods])
    if (allowed.length === 0) {
      return reply.code(404).send({ error: 'not_found', message: 'There is nothing at this path.' })
    }
    const allow = [...new Set(allowed)].sort().join(', ')
    return reply
      .code(405)
      .header('allow', allow)
      .send({ error: 'method_not_allowed', message: `This path answers ${allow} only.` })
  })
}

/** `/payments/:network/*` as an expression over a raw path. */
function toPattern(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:[^/]+/g, '[^/]+')
    .replace(/\*/g, '.*')
    .replace(/\/$/, '')
  return new RegExp(`^${source}/?$`)
}
