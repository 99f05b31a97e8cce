import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ActivityStore } from '../../../src/store/activity.js'

/** Endpoint 0 has all of the merchant, what is of no endpoint among it. */
const wholeMerchants = `
  INSERT INTO activity_sums VALUES
    ('d', '', 0, 0, 'settle', 'settled', '', 0, 9, 900, 90),
    ('d', 'weather', 0, 0, 'settle', 'settled', '', 0, 6, 600, 60),
    ('d', 'weather', 0, 1, 'settle', 'settled', '', 0, 3, 300, 30),
    ('d', 'weather', 0, 2, 'settle', 'settled', '', 0, 2, 200, 20),
    ('d', 'weather', 0, 0, 'settle', 'failed', 'x', 0, 4, 0, 0),
    ('d', 'weather', 0, 2, 'settle', 'failed', 'x', 0, 4, 0, 0),
    ('d', 'weather', 86400, 0, 'settle', 'settled', '', 0, 1, 7, 0);
  INSERT INTO activity_latencies VALUES
    ('d', 'weather', 0, 0, 'settle', 50, 6), ('d', 'weather', 0, 1, 'settle', 50, 3),
    ('d', 'weather', 0, 2, 'settle', 50, 2);
  INSERT INTO activity_payers VALUES
    ('d', 'weather', 0, 0, '0xa', 4, 400), ('d', 'weather', 0, 1, '0xa', 2, 200),
    ('d', 'weather', 0, 2, '0xa', 2, 200), ('d', 'weather', 0, 0, '0xb', 2, 200),
    ('d', 'weather', 0, 1, '0xb', 1, 100);`

/** Each payment stands in its hour and in its day; the hours of payers are kept for three days only. */
const hoursAndDays = `
  INSERT INTO activity_sums VALUES
    ('h', 'weather', 3600, 1, 'settle', 'settled', '', 0, 2, 200, 20),
    ('h', 'weather', 7200, 1, 'settle', 'settled', '', 0, 1, 100, 10),
    ('d', 'weather', 0, 1, 'settle', 'settled', '', 0, 3, 300, 30),
    ('h', '', 3600, 0, 'settle', 'settled', '', 0, 2, 200, 20),
    ('d', '', 0, 0, 'settle', 'settled', '', 0, 5, 500, 50),
    ('d', 'weather', 86400, 1, 'settle', 'failed', 'x', 0, 4, 0, 0);
  INSERT INTO activity_latencies VALUES
    ('h', 'weather', 3600, 1, 'settle', 50, 3), ('d', 'weather', 0, 1, 'settle', 50, 3),
    ('d', 'weather', 86400, 1, 'settle', 50, 4);
  INSERT INTO activity_payers VALUES
    ('h', 'weather', 7200, 1, '0xa', 1, 100), ('d', 'weather', 0, 1, '0xa', 2, 200),
    ('d', 'weather', 0, 1, '0xb', 1, 100);`

export interface ActivityMigration {
  before: string
  sqlite: string
  postgres: string
}

const sumsOfEndpoints: ActivityMigration = {
  before: wholeMerchants,
  sqlite: '0009-sums-of-endpoints',
  postgres: '0003-sums-of-endpoints',
}
const daysOfHours: ActivityMigration = {
  before: hoursAndDays,
  sqlite: '0010-days-of-hours',
  postgres: '0004-days-of-hours',
}

/** Refusals of what was never signed stand among the failures. */
const refusalsApart: ActivityMigration = {
  before: `INSERT INTO activity_sums VALUES
    ('d', 'weather', 0, 1, 'settle', 'failed', 'invalid_exact_evm_signature', 0, 20, 0, 0),
    ('d', 'weather', 0, 1, 'settle', 'failed', 'asset_paused', 0, 1, 0, 0),
    ('d', 'weather', 0, 1, 'settle', 'settled', '', 0, 2, 20, 0);`,
  sqlite: '0014-what-was-given-back',
  postgres: '0008-what-was-given-back',
}

/** The text of a migration. */
export const readMigration = (engine: 'sqlite' | 'postgres', name: string) =>
  readFileSync(new URL(`../../../migrations/${engine}/${name}.sql`, import.meta.url), 'utf8')

const all = { merchantId: 'weather', span: 'd', since: 0 } as const

/** Opens an engine as it was before a migration, and migrates it. */
export type OpenMigrated = (migration: ActivityMigration) => Promise<{
  activity: ActivityStore
  close(): Promise<void>
}>

/** Says what activity of before reads as after its migration, on either engine. */
export function describeActivityMigrations(engine: string, open: OpenMigrated): void {
  describe(`activity of before on ${engine}`, () => {
    it('says the same of the merchant and of each endpoint as it did', async () => {
      const { activity, close } = await open(sumsOfEndpoints)
      const sums = async (scope: object) =>
        (await activity.sums({ ...all, ...scope })).map(({ bucket, state, count, amount }) => [
          bucket,
          state,
          count,
          amount,
        ])
      const whole = await sums({})
      expect(whole).toHaveLength(3)
      expect(whole).toEqual(
        expect.arrayContaining([
          [0, 'settled', 6, 600n],
          [0, 'failed', 4, 0n],
          [86_400, 'settled', 1, 7n],
        ]),
      )
      expect(await sums({ endpointId: 1 })).toEqual([[0, 'settled', 3, 300n]])
      expect(await sums({ merchantId: undefined })).toEqual([[0, 'settled', 9, 900n]])
      expect(await activity.latencies(all, 'settle')).toEqual([{ upToMs: 50, count: 6 }])
      expect(await activity.payers(all)).toEqual({
        unique: 2,
        repeat: 2,
        topAmount: 400n,
        amount: 600n,
        topCount: 4,
        count: 6,
      })
      const one = { ...all, endpointId: 1 }
      expect(await activity.payers(one)).toEqual({
        unique: 2,
        repeat: 1,
        topAmount: 200n,
        amount: 300n,
        topCount: 2,
        count: 3,
      })
      await close()
    })

    it('no longer counts as failed what may never have been sound', async () => {
      const { activity, close } = await open(refusalsApart)
      const sums = (await activity.sums(all)).map(({ state, count }) => [state, count])
      expect(sums.sort()).toEqual([
        ['failed', 1],
        ['refused', 20],
        ['settled', 2],
      ])
      await close()
    })

    it('says the same by day, of hours that are kept and of those that are gone', async () => {
      const { activity, close } = await open(daysOfHours)
      const sums = async (scope: object) =>
        (await activity.sums({ ...all, ...scope })).map((sum) => [
          sum.bucket,
          sum.count,
          sum.amount,
        ])
      expect(await sums({})).toEqual([
        [0, 3, 300n],
        [86_400, 4, 0n],
      ])
      expect(await sums({ merchantId: undefined })).toEqual([[0, 5, 500n]])
      expect(await activity.latencies(all, 'settle')).toEqual([{ upToMs: 50, count: 7 }])
      const payers = { unique: 2, repeat: 1, topAmount: 200n, amount: 300n, topCount: 2, count: 3 }
      expect(await activity.payers(all)).toEqual(payers)
      await close()
    })
  })
}
