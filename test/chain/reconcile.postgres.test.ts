import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStores } from '../../src/app/stores/open-stores.js'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { type PostgresServer, startPostgres } from '../support/postgres.js'
import { arcus } from '../support/scripts.js'

let world: World
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(async () => {
  await world?.stop()
  await server?.close()
})

it('rebuilds an empty PostgreSQL from the chain, once', async () => {
  const payments = await Promise.all(Array.from({ length: 8 }, () => aSignedPayment()))
  const answers = await Promise.all(payments.map((payment) => world.post('/settle', payment)))
  const hashes = answers.map(({ body }) => body.transaction)
  expect(answers.every(({ body }) => body.success)).toBe(true)

  const url = await server.createDatabase({ isEmpty: true })
  const env = {
    PATH: process.env.PATH,
    MAINNET_RPC_URLS: world.chainUrl,
    RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
    DATABASE_URL: url,
  }
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, arcus('reconcile', '--from-block', '0', ...args), { env })
  await expect(run()).rejects.toMatchObject({ code: 1 })
  expect((await run('--write')).stdout).toContain('8 missing, 0 failed, 0 open, 0 different; 8 wr')
  expect((await run('--write')).stdout).toContain(': 8 rows are as on chain, 0 missing')

  const lost = await openStores({ kind: 'sqlite', path: world.databasePath })
  const rebuilt = await openStores({ kind: 'postgres', url, poolSize: 2 })
  try {
    for (const hash of new Set(hashes)) {
      const summary = async ({ journal }: typeof lost) =>
        (await journal.findByTransaction(hash))
          .map(({ key, digest, calldata, state, blockNumber, gasCost, deliveredAt }) => ({
            key,
            digest,
            calldata,
            state,
            blockNumber,
            gasCost,
            isDelivered: deliveredAt !== null,
          }))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
      expect(await summary(rebuilt)).toEqual(await summary(lost))
    }
  } finally {
    await lost.close()
    await rebuilt.close()
  }
})
