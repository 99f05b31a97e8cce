import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { openConsole } from '../../src/app/console.js'
import { createLogger } from '../../src/app/logger.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { installNotFound } from '../../src/http/not-found.js'
import { createServer } from '../../src/http/server.js'

const tag = '<script src="/assets/main-1a2b.js"></script>'
const page = `<!doctype html><title>Arcus</title><meta name="description" content="Built" />${tag}`
const script = `export const words = '${'a calm page '.repeat(200)}'`
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const local = { baseUrl: 'http://localhost:4021', directoryUrl: 'http://localhost:4021' }

const folder = mkdtempSync(join(tmpdir(), 'arcus-console-'))
mkdirSync(join(folder, 'assets'))
writeFileSync(join(folder, 'index.html'), page)
writeFileSync(join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
writeFileSync(join(folder, 'assets', 'main-1a2b.js'), script)
writeFileSync(join(folder, 'assets', 'main-1a2b.js.br'), brotliCompressSync(script))
writeFileSync(join(folder, 'assets', 'main-1a2b.js.gz'), gzipSync(script))

let app: FastifyInstance | undefined
afterEach(() => app?.close())
afterAll(() => rmSync(folder, { recursive: true }))

async function serve(options: Partial<Parameters<typeof openConsole>[0]> = {}) {
  const pages = openConsole({ folder, ...local, ...options })
  app = createServer({
    logger: createLogger({ level: 'silent' }),
    bodyLimitBytes: 262_144,
    settleWaitSeconds: 30,
    trustProxy: false,
  })
  installErrorHandling(app)
  installNotFound(app, pages.answerPage)
  app.get('/api/merchants', () => ({ merchants: [] }))
  app.get('/payments/:network/:payer/:nonce', () => ({}))
  await pages.install(app)
  return app
}

describe('the console', () => {
  it('is at the root, revalidated each time, and a 304 to a browser that has it', async () => {
    const server = await serve()
    const first = await server.inject({ url: '/', headers: browser })
    expect(first.statusCode).toBe(200)
    expect(first.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(first.headers['cache-control']).toBe('no-cache')
    expect(first.body).toContain(tag)
    const again = await server.inject({
      url: '/',
      headers: { ...browser, 'if-none-match': first.headers.etag as string },
    })
    expect(again.statusCode).toBe(304)
    expect(again.body).toBe('')
  })

  it('runs and calls nothing but its own origin, and is shown in no frame', async () => {
    const { headers } = await (await serve()).inject({ url: '/', headers: browser })
    const policy = new Map(
      String(headers['content-security-policy'])
        .split('; ')
        .map((part) => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]),
    )
    expect(policy.get('default-src')).toBe("'none'")
    expect(policy.get('script-src')).toBe("'self'")
    expect(policy.get('style-src')).toBe("'self'")
    expect(policy.get('connect-src')).toBe("'self'")
    expect(policy.get('frame-ancestors')).toBe("'none'")
    expect(policy.get('base-uri')).toBe("'none'")
    expect(policy.get('form-action')).toBe("'none'")
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['referrer-policy']).toBe('same-origin')
    expect(headers['strict-transport-security']).toBeUndefined()
  })

  it('asks browsers to keep to https if its public address is https', async () => {
    const url = 'https://directory.example'
    const server = await serve({ baseUrl: url, directoryUrl: url })
    const { headers } = await server.inject({ url: '/', headers: browser })
    expect(headers['strict-transport-security']).toBe('max-age=31536000')
  })

  it.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['identity', undefined],
  ])(
    'sends a hashed file to a browser that accepts %s, to be kept for ever',
    async (accepts, encoding) => {
      const server = await serve()
      const answer = await server.inject({
        url: '/assets/main-1a2b.js',
        headers: { 'accept-encoding': accepts },
      })
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-encoding']).toBe(encoding)
      expect(answer.headers['content-type']).toMatch(/javascript/)
      expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(answer.headers.vary).toMatch(/accept-encoding/i)
      if (encoding === undefined) expect(answer.body).toBe(script)
      else expect(answer.rawPayload.length).toBeLessThan(script.length / 5)
    },
  )

  it('serves files without a hash in their name, revalidated each time', async () => {
    const answer = await (await serve()).inject('/favicon.svg')
    expect(answer.headers['content-type']).toBe('image/svg+xml')
    expect(answer.headers['cache-control']).toBe('no-cache')
  })

  it('answers HEAD without a body', async () => {
    const server = await serve()
    for (const url of ['/', '/quickstart', '/assets/main-1a2b.js']) {
      const answer = await server.inject({ method: 'HEAD', url, headers: browser })
      expect([url, answer.statusCode, answer.body]).toEqual([url, 200, ''])
      expect(Number(answer.headers['content-length'])).toBeGreaterThan(0)
    }
  })
})

describe('the addresses of pages', () => {
  it('are the page for anybody who asks for it', async () => {
    const server = await serve()
    for (const url of ['/payments', '/quickstart?part=buy', '/status', '/console/new']) {
      for (const headers of [browser, { accept: '*/*' }, { accept: 'application/json' }, {}]) {
        const answer = await server.inject({ url, headers })
        expect([url, answer.statusCode, answer.body]).toEqual([url, 200, page])
        expect(answer.headers['content-security-policy']).toBeDefined()
      }
    }
  })

  it('have a head for search engines at the root, and one description', async () => {
    const { body } = await (await serve()).inject('/')
    expect(body).toContain('<link rel="canonical" href="http://localhost:4021/" />')
    expect(body).toContain('content="http://localhost:4021/card.png"')
    expect(body.match(/name="description"/g)).toHaveLength(1)
    const [, data = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(body) ?? []
    expect(JSON.parse(data)).toMatchObject({ '@type': 'Service', name: 'Arcus' })
  })

  it('are a 404 with the page for a browser where there is no page', async () => {
    const server = await serve()
    for (const url of ['/nothing', '/lookup', '/directory', '/status/1', '//elsewhere.example']) {
      const answer = await server.inject({ url, headers: browser })
      expect([url, answer.statusCode, answer.body]).toEqual([url, 404, page])
      expect(answer.headers['cache-control']).toBe('no-store')
    }
  })
})

describe('other addresses', () => {
  it.each([
    ['a program', '/nothing', 'GET', {}],
    ['a write', '/nothing', 'POST', browser],
    ['a browser below an API path', '/api/nothing', 'GET', browser],
    ['a browser that asks for an asset of another build', '/assets/main-ffff.js', 'GET', browser],
    ['a browser with a path of dots', '/assets/..%2findex.html', 'GET', browser],
  ] as const)('stay a JSON 404 for %s', async (_who, url, method, headers) => {
    const answer = await (await serve()).inject({ method, url, headers })
    expect(answer.statusCode).toBe(404)
    expect(answer.json().error).toBe('not_found')
    expect(answer.headers['cache-control'] ?? '').not.toContain('immutable')
  })
})

describe('two public addresses', () => {
  const hosts = { baseUrl: 'https://pay.example', directoryUrl: 'https://directory.example' }

  it('redirect pages of the facilitator to the directory, with their path', async () => {
    const server = await serve(hosts)
    const answer = await server.inject({
      url: '/merchants/penny-quotes?tab=try',
      headers: { ...browser, host: 'pay.example' },
    })
    expect(answer.statusCode).toBe(302)
    expect(answer.headers.location).toBe('https://directory.example/merchants/penny-quotes?tab=try')
  })

  it('answer everything else at both', async () => {
    const server = await serve(hosts)
    for (const host of ['pay.example', 'directory.example', '127.0.0.1:4021']) {
      const answer = await server.inject({ url: '/api/merchants', headers: { host } })
      expect(answer.statusCode).toBe(200)
    }
    for (const host of ['directory.example', '127.0.0.1:4021']) {
      const answer = await server.inject({ url: '/', headers: { ...browser, host } })
      expect(answer.statusCode).toBe(200)
    }
  })
})

it('a missing build is explained in a sentence, and the API works', async () => {
  const server = await serve({ folder: join(folder, 'nowhere') })
  for (const url of ['/', '/merchants/penny-quotes']) {
    const answer = await server.inject({ url, headers: browser })
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(answer.body).toMatch(/^The console is not built\. Run "npm run build"/)
  }
  expect((await server.inject('/api/merchants')).statusCode).toBe(200)
})
