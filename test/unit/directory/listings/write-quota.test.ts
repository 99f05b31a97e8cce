import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { createWriteQuota } from '../../../../src/directory/listings/signed-write.js'
import type { Merchant } from '../../../../src/directory/store/listings.js'
import { aMerchant } from '../probe/a-listing-store.js'

const MB = 2 ** 20
const DAY = 86_400
const NOW = 1_800_000_000

/** Accounts of which each is a new owner, unless these merchants are theirs. */
function aQuota(owned: Merchant[] = [], wish: { maxNewOwners?: number; isDiskLow?: boolean } = {}) {
  const clock = { seconds: NOW }
  const quota = createWriteQuota({
    listings: { merchantsOwnedBy: async (_, limit) => owned.slice(0, limit) },
    maxNewOwners: wish.maxNewOwners ?? 0,
    isDiskLow: () => wish.isDiskLow === true,
    now: () => clock.seconds * 1_000,
  })
  /** Writes so many bytes, and returns the code of the refusal. */
  async function write(
    who: number,
    bytes: number,
    { ip = `10.${who % 250}.0.1`, isSave = true, fails = false } = {},
  ): Promise<string> {
    const owner: Address = `0x${who.toString(16).padStart(40, '0')}`
    return quota({ owner, bytes, ip, isSave }, async () => {
      if (fails) throw Object.assign(new Error(), { code: 'failed' })
      return 'kept'
    }).catch(({ code }: { code: string }) => code)
  }
  return { write, clock }
}

const young = Array.from({ length: 19 }, (_, i) => aMerchant({ id: `m${i}`, createdAt: NOW - 9 }))
const old = aMerchant({ id: 'old', createdAt: NOW - DAY })

describe('the bytes that are written within an hour', () => {
  it('of one owner are bounded, and free again with the hour', async () => {
    const { write, clock } = aQuota([old])
    for (let i = 0; i < 4; i++) expect(await write(1, MB - 1_000)).toBe('kept')
    expect(await write(1, 4_000)).toBe('too_much_written')
    expect(await write(2, 4_000)).toBe('kept')
    clock.seconds += 3_600
    expect(await write(1, MB)).toBe('kept')
  })

  it('of one block of addresses are bounded, whoever owns them', async () => {
    const { write } = aQuota([old])
    const ip = '10.0.0.1'
    for (let i = 0; i < 16; i++) expect(await write(i, MB - 1_000, { ip })).toBe('kept')
    expect(await write(99, MB - 1_000, { ip })).toBe('too_much_written')
    expect(await write(99, MB - 1_000, { ip: '10.9.0.1' })).toBe('kept')
  })

  it.each([
    ['without any listing', [], true],
    ['of a listing of a day less a second', [aMerchant({ createdAt: NOW - DAY + 1 })], true],
    ['of a listing of a day', [old], false],
    ['of twenty, of which the last is a day old', [...young, old], false],
    ['of young ones alone', young, true],
    ['that is a partner', [aMerchant({ createdAt: NOW, isPartner: true })], false],
    ['that is official', [aMerchant({ createdAt: NOW, isOfficial: true })], false],
  ])('of an owner %s count with those of all new ones: %s', async (_, owned, isCounted) => {
    const { write } = aQuota(owned)
    for (let i = 0; i < 64; i++) expect(await write(i, MB - 1_000)).toBe('kept')
    expect(await write(99, MB)).toBe(isCounted ? 'too_much_written' : 'kept')
  })

  it('that were not kept do not count', async () => {
    const { write } = aQuota([], { maxNewOwners: 1 })
    for (let i = 0; i < 40; i++) expect(await write(1, 2 * MB, { fails: true })).toBe('failed')
    expect(await write(2, 2 * MB, { ip: '10.1.0.1' })).toBe('kept')
  })
})

describe('new owners of one block of addresses', () => {
  const ip = '10.0.0.1'

  it('are bounded in an hour; each counts once, and those who delete do not', async () => {
    const { write, clock } = aQuota([], { maxNewOwners: 2 })
    for (const who of [1, 1, 2, 2, 1]) expect(await write(who, 10, { ip })).toBe('kept')
    expect(await write(3, 10, { ip, isSave: false })).toBe('kept')
    expect(await write(3, 10, { ip })).toBe('too_many_new_owners')
    expect(await write(3, 10, { ip: '10.9.0.1' })).toBe('kept')
    clock.seconds += 3_600
    expect(await write(4, 10, { ip })).toBe('kept')
  })

  it('have no bound where there is none, nor have those who own something', async () => {
    for (const { write } of [aQuota([], { maxNewOwners: 0 }), aQuota(young, { maxNewOwners: 1 })]) {
      for (let who = 0; who < 9; who++) expect(await write(who, 10, { ip })).toBe('kept')
    }
  })
})

it('a disk that is nearly full keeps what is deleted, and nothing that is saved', async () => {
  const { write } = aQuota([old], { isDiskLow: true })
  expect(await write(1, 10)).toBe('storage_low')
  expect(await write(1, 10, { isSave: false })).toBe('kept')
})
