import { describe, expect, it } from 'vitest'
import { SUBSIDISED, WASTED } from '../../../src/facilitator/journal/budgets.js'
import { createGasModel } from '../../../src/facilitator/relayer/gas.js'
import { createGasGuard, subsidisedLimit } from '../../../src/facilitator/verify/gas-guard.js'

const GWEI = 10n ** 9n
const DOLLAR = 10n ** 18n
const account = '0x00000000000000000000000000000000000000a1'
/** Noon of the day on which everything here is booked. */
const noon = Date.UTC(2026, 10, 21, 12)

/** A guard with a dollar a day for everything; `spent` is booked already. */
function aGuard({
  dailyGasLimit,
  baseFeeGwei = 20n,
  spent = {},
  total = 0n,
}: {
  dailyGasLimit?: bigint
  baseFeeGwei?: bigint
  spent?: Record<string, bigint>
  total?: bigint
} = {}) {
  const days = new Set<string>()
  const guard = createGasGuard({
    network: 'eip155:5042',
    budgets: {
      async spentOn(_network, day) {
        days.add(day)
        return total
      },
      async burntBy(_network, day, payer) {
        days.add(day)
        return spent[payer] ?? 0n
      },
    },
    dailyGasLimit,
    limits: { perAccount: DOLLAR, wasted: DOLLAR, subsidised: subsidisedLimit(dailyGasLimit) },
    maxFeePerGas: 100n * GWEI,
    baseFeePerGas: () => baseFeeGwei * GWEI,
    gas: createGasModel(),
    now: () => noon,
  })
  const ask = async (question: Partial<Parameters<typeof guard>[0]> = {}) =>
    (await guard({ account, hasCode: false, amount: 10_000_000n, ...question }))?.reason
  return { ask, days }
}

const refused = 'gasBudgetExceeded'

describe('the gas of a payment', () => {
  it('is paid where nothing stands against it, by the books of the day', async () => {
    const { ask, days } = aGuard({ dailyGasLimit: 10n * DOLLAR })
    expect(await ask()).toBeUndefined()
    expect([...days]).toEqual(['2026-11-21'])
  })

  it('is not paid while the base fee is above the cap', async () => {
    expect(await aGuard({ baseFeeGwei: 99n }).ask()).toBeUndefined()
    expect(await aGuard({ baseFeeGwei: 101n }).ask()).toBe('gasPriceTooHigh')
  })

  it('is not paid for an account whose transactions burnt its budget', async () => {
    expect(await aGuard({ spent: { [account]: DOLLAR - 1n } }).ask()).toBeUndefined()
    expect(await aGuard({ spent: { [account]: DOLLAR } }).ask()).toBe(refused)
    expect(await aGuard({ spent: { '0xother': DOLLAR } }).ask()).toBeUndefined()
  })

  it('must fit beside what a wallet with code burnt, at worst', async () => {
    const hasCode = true
    expect(await aGuard().ask({ hasCode })).toBeUndefined()
    const nearly = { [account]: DOLLAR - 1n }
    expect(await aGuard({ spent: nearly }).ask({ hasCode })).toBe(refused)
    const all = { [WASTED.coded]: DOLLAR }
    expect(await aGuard({ spent: all }).ask({ hasCode })).toBe(refused)
    expect(await aGuard({ spent: all }).ask()).toBeUndefined()
    const byPlain = { [WASTED.plain]: DOLLAR }
    expect(await aGuard({ spent: byPlain }).ask({ hasCode })).toBeUndefined()
    expect(await aGuard({ spent: byPlain }).ask()).toBeUndefined()
  })
})

describe('the ceiling of a day', () => {
  const dailyGasLimit = 2n * DOLLAR

  it('stops everything once settlements have spent it', async () => {
    expect(await aGuard({ dailyGasLimit, total: 2n * DOLLAR - 1n }).ask()).toBeUndefined()
    expect(await aGuard({ dailyGasLimit, total: 2n * DOLLAR }).ask()).toBe(refused)
  })

  it('does not count what bought nothing', async () => {
    for (const name of [WASTED.plain, WASTED.coded]) {
      const guard = aGuard({ dailyGasLimit, total: 2n * DOLLAR, spent: { [name]: 1n } })
      expect(await guard.ask()).toBeUndefined()
    }
  })

  it('keeps half for payments that cover their gas', async () => {
    const spent = { [SUBSIDISED]: DOLLAR }
    const guard = aGuard({ dailyGasLimit, total: DOLLAR, spent })
    expect(await guard.ask({ amount: 1n })).toBe(refused)
    expect(await guard.ask()).toBeUndefined()
    const nearly = { [SUBSIDISED]: (DOLLAR * 98n) / 100n }
    const open = aGuard({ dailyGasLimit, total: DOLLAR, spent: nearly })
    expect(await open.ask({ amount: 1n })).toBeUndefined()
  })
})
