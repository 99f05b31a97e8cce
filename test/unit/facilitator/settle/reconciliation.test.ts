import { expect, it, onTestFinished } from 'vitest'
import { createRebuiltJobs } from '../../../../src/facilitator/journal/rebuilt-jobs.js'
import { createFacilitatorStores } from '../../../../src/facilitator/journal/sqlite/stores.js'
import { failure } from '../../../../src/facilitator/relayer/outcomes.js'
import { createReconciliation } from '../../../../src/facilitator/settle/reconciliation.js'
import { openDatabase } from '../../../../src/sql/sqlite/database.js'
import { createSql } from '../../../../src/sql/sqlite/sql.js'
import { aToken, computeDigest } from '../../../support/simulated/a-facilitator.js'
import {
  aWorld,
  network,
  pass,
  useVirtualClock,
  type World,
  writesOf,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

/** A journal that knows nothing, and the comparison with what the wallets of a world brought on chain. */
function aLostJournal({ rpc, signers, chain }: World, wallets = signers) {
  const database = openDatabase(':memory:')
  onTestFinished(() => void database.close())
  const commit = writesOf(database)
  const sql = createSql(database, commit)
  const { journal } = createFacilitatorStores(database, commit, sql)
  const reconcile = (isWriting: boolean) =>
    createReconciliation({
      rpc,
      tokens: [aToken()],
      wallets: new Set(wallets.map(({ address }) => address)),
      journal,
      rebuilt: isWriting ? createRebuiltJobs(sql) : undefined,
      computeDigest,
      now: Date.now,
    })({ from: 0, to: chain.head().number })
  return { journal, reconcile }
}

/** Three payments that share a transaction, and one of its own. */
async function aWorldWithPayments(wallets = 1) {
  const world = aWorld({ wallets })
  const process = await world.start()
  const payments = await process.payAll([{}, { value: 2_000_000n }, {}])
  await pass(2_000)
  payments.push(await process.pay())
  await pass(2_000)
  const rows = await Promise.all(payments.map(({ row }) => row()))
  return { world, payments, rows }
}

it('what the chain shows is put back into a journal that lost it, once', async () => {
  const { world, rows } = await aWorldWithPayments()
  const { journal, reconcile } = aLostJournal(world)
  const states = async (isWriting: boolean) =>
    (await reconcile(isWriting)).map(({ state, isWritten }) => [state, isWritten])
  expect(await states(false)).toEqual(Array(4).fill(['missing', false]))
  expect(await states(true)).toEqual(Array(4).fill(['missing', true]))
  expect(await states(true)).toEqual(Array(4).fill(['same', false]))
  for (const { kind, key, transaction, blockNumber, gasCost } of rows) {
    const found = await journal.findJob(kind, network, key)
    expect(found).toMatchObject({ state: 'confirmed', transaction, blockNumber, gasCost })
    // Nobody knows whether it was answered with success, so it never is again.
    expect(found?.deliveredAt).toBe(Date.now())
  }
})

it('a row that failed says what the chain shows, and an open one is left to the service', async () => {
  const { world, payments } = await aWorldWithPayments()
  const { journal, reconcile } = aLostJournal(world)
  const [failed, open] = payments.map(({ job }) => job)
  if (failed === undefined || open === undefined) throw new Error('there are no payments')
  for (const job of [failed, open]) await journal.claim(job, undefined, Date.now())
  const outcome = failure('insufficientBalance', 'Poor.')
  await journal.resolve({ outcomes: [{ id: failed.id, round: 0, outcome }], now: Date.now() })
  const state = async ({ kind, key }: typeof failed) =>
    (await journal.findJob(kind, network, key))?.state
  expect((await reconcile(false)).map((it) => it.state)).toEqual([
    'failed',
    'open',
    'missing',
    'missing',
  ])
  expect([await state(failed), await state(open)]).toEqual(['failed', 'queued'])
  const written = await reconcile(true)
  expect(written.map(({ isWritten }) => isWritten)).toEqual([true, false, true, true])
  expect([await state(failed), await state(open)]).toEqual(['confirmed', 'queued'])
})

it('a row that names another transaction is reported, and stays as it is', async () => {
  const { world, payments } = await aWorldWithPayments()
  const { journal, reconcile } = aLostJournal(world)
  const [job] = payments.map(({ job }) => job)
  if (job === undefined) throw new Error('there is no payment')
  await journal.claim(job, undefined, Date.now())
  const transaction = `0x${'bb'.repeat(32)}` as const
  const outcome = {
    ...failure('insufficientBalance', ''),
    state: 'confirmed',
    transaction,
    reason: null,
    blockNumber: 1,
  } as const
  await journal.resolve({ outcomes: [{ id: job.id, round: 0, outcome }], now: Date.now() })
  const [first] = await reconcile(true)
  expect(first).toMatchObject({ state: 'differs', isWritten: false })
  expect(await journal.findJob(job.kind, network, job.key)).toMatchObject({ transaction })
})

it('payments that other wallets sent are none of ours', async () => {
  const { world, rows } = await aWorldWithPayments(2)
  const senders = new Map(world.chain.mined().map(({ hash, from }) => [hash, from]))
  for (const signer of world.signers) {
    const own = rows.filter((row) => senders.get(row.transaction ?? '0x') === signer.address)
    expect(await aLostJournal(world, [signer]).reconcile(false)).toHaveLength(own.length)
  }
  expect(await aLostJournal(world, []).reconcile(false)).toEqual([])
})
