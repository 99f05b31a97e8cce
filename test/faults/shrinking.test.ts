import { randomBytes, randomUUID } from 'node:crypto'
import Sqlite from 'better-sqlite3'
import { toHex } from 'viem'
import { afterEach, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { asset, network, somePayments } from './support/payments.js'
import { expectAllSettledAndTrue, startWorld, until, type World } from './support/world.js'

let world: World
afterEach(() => world?.close())

const OLD_ROWS = 3_000
const payer = '0x00000000000000000000000000000000000000aa'

/** Puts settled payments of two months ago into the journal; every hundredth was never answered. */
function fill(database: Sqlite.Database): string[] {
  const insert = database.prepare(
    `INSERT INTO jobs (id, kind, network, key, digest, state, "to", calldata, details, seen_block, expires_at,
       "transaction", transfer_log, block_number, gas_cost, created_at, updated_at, delivered_at)
     VALUES (?, 'exact', ?, ?, ?, 'confirmed', ?, ?, ?, 1, 1, ?, 1, 1, '1', ?, ?, ?)`,
  )
  const at = Date.now() - 60 * 86_400_000
  return database.transaction(() =>
    Array.from({ length: OLD_ROWS }, (_, i) => {
      const nonce = toHex(randomBytes(32))
      const details = {
        asset,
        payer,
        payTo: payer,
        value: '10000',
        nonce,
        validAfter: '0',
        validBefore: '1',
        signatureDigest: randomBytes(32).toString('base64url'),
        isAlone: false,
        claimedAt: at + i,
      }
      insert.run(
        randomUUID(),
        network,
        `${asset}/${payer}/${nonce}`,
        toHex(randomBytes(32)),
        asset,
        toHex(randomBytes(356)),
        JSON.stringify(details),
        toHex(randomBytes(32)),
        at + i,
        at + i,
        i % 100 === 0 ? null : at + i,
      )
      return nonce
    }),
  )()
}

it('a process that dies again and again while it makes old payments small loses and doubles nothing', async () => {
  world = await startWorld({ relayers: 2, env: { JOURNAL_RETENTION_DAYS: '30' } })
  await world.service().stop()
  const journal = new Sqlite(world.databasePath, { timeout: 10_000 })
  const nonces = fill(journal)
  const read = (id = '%') =>
    journal.prepare(`SELECT * FROM jobs WHERE id LIKE ? ORDER BY id`).all(id) as { id: string }[]
  const before = read()
  const left = journal
    .prepare(`SELECT count(*) FROM jobs WHERE calldata <> '0x' AND created_at < ?`)
    .pluck()
  const countLeft = () => left.get(Date.now() - 30 * 86_400_000) as number
  await world.restart()

  const payments = await somePayments(300)
  const load = payments.map(async (payment, i) => {
    await pause(i * 30)
    await world.client.settleUntilTold([payment], 90_000)
  })
  let crashes = 0
  for (const rows of [OLD_ROWS, OLD_ROWS - 100, OLD_ROWS - 1_000, OLD_ROWS - 2_000]) {
    await until(`${rows} whole rows`, () => countLeft() <= rows, 60_000)
    await world.service().crash()
    crashes++
    await world.restart()
  }
  await until('all old rows are small', () => countLeft() === 0, 60_000)
  await Promise.all(load)
  expect(crashes).toBe(4)
  await expectAllSettledAndTrue(world, payments, { mayRepeat: true })

  for (const row of before) expect(read(row.id)).toEqual([{ ...row, calldata: '0x' }])
  expect(read()).toHaveLength(OLD_ROWS + payments.length)
  const view = await fetch(`${world.service().url}/payments/${network}/${payer}/${nonces[7]}`)
  expect(await view.json()).toMatchObject({ state: 'confirmed', nonce: nonces[7], amount: '10000' })
  journal.close()
})
