import { expect, it, onTestFinished } from 'vitest'
import { createOldBooks, forgetOldBooks } from '../../../../src/facilitator/journal/old-books.js'
import { openDatabase } from '../../../../src/sql/sqlite/database.js'
import { createSql } from '../../../../src/sql/sqlite/sql.js'
import { network, writesOf } from '../../../support/simulated/a-relayer.js'

const noon = Date.UTC(2026, 10, 21, 12)

/** A database with so many old sums of gas, and some that are in use. */
function someBooks(old: number) {
  const database = openDatabase(':memory:')
  onTestFinished(() => void database.close())
  const book = database.prepare('INSERT INTO gas_spending VALUES (?, ?, ?, ?)')
  for (let i = 0; i < old; i++) book.run(network, '2026-11-12', `spent:${i}`, '5')
  book.run(network, '2026-11-12', '', '5')
  for (const day of ['2026-11-13', '2026-11-21']) book.run(network, day, 'spent:1', '5')
  const meet = database.prepare('INSERT INTO customers VALUES (?, ?, ?, ?, ?)')
  meet.run(network, '0xa', '0x1', '2026-01-01', '2026-05-24')
  meet.run(network, '0xa', '0x2', '2026-01-01', '2026-05-25')
  const count = (table: string) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
  return { store: createOldBooks(createSql(database, writesOf(database))), count }
}

it('deletes all that is past its use, whatever its number, and nothing else', async () => {
  const { store, count } = someBooks(450)
  await forgetOldBooks(store, [network], noon, () => true)
  expect([count('gas_spending'), count('customers')]).toEqual([3, 1])
})

it('ends between two steps where it may not go on', async () => {
  const { store, count } = someBooks(450)
  let steps = 0
  await forgetOldBooks(store, [network], noon, () => ++steps <= 1)
  expect([count('gas_spending'), count('customers')]).toEqual([253, 2])
})
