import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliDecompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createLogger } from '../../src/app/logger.js'
import { installCompression } from '../../src/http/compression.js'
import { createServer } from '../../src/http/server.js'

/** Node's pool has four threads, and each of these jobs keeps one busy for a second or so. */
const POOL_THREADS = 4
const ROUNDS = 1_000_000

it('compressing a large answer takes no thread of the pool, on which payments wait for the disk', async () => {
  const app = createServer({
    logger: createLogger({ level: 'silent' }),
    bodyLimitBytes: 1_000,
    settleWaitSeconds: 30,
    trustProxy: false,
  })
  await installCompression(app)
  const large = {
    items: Array.from({ length: 20_000 }, (_, number) => ({ number, text: 'words' })),
  }
  app.get('/large', () => large)
  let done = 0
  const jobs = Array.from({ length: POOL_THREADS }, () =>
    promisify(pbkdf2)('secret', 'salt', ROUNDS, 64, 'sha512').then(() => done++),
  )
  const { headers, rawPayload } = await app.inject({
    url: '/large',
    headers: { 'accept-encoding': 'br' },
  })
  expect(done).toBe(0)
  expect(headers['content-encoding']).toBe('br')
  expect(JSON.parse(brotliDecompressSync(rawPayload).toString())).toEqual(large)
  await Promise.all(jobs)
})
