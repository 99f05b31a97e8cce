import { describe, expect, it } from 'vitest'
import {
  NEWCOMERS,
  spentBy,
  WASTED,
  wastedBy,
} from '../../../../src/facilitator/journal/budgets.js'
import { createGasModel } from '../../../../src/facilitator/relayer/gas.js'
import { createGasGuard } from '../../../../src/facilitator/relayer/gas-guard.js'

const GWEI = 10n ** 9n
const DOLLAR = 10n ** 18n
const account = '0x00000000000000000000000000000000000000a1'
const payTo = '0x00000000000000000000000000000000000000b2'
const caller = '203.0.113.9'
/** Noon of the day on which everything here is booked. */
const noon = Date.UTC(2026, 10, 21, 12)

interface GuardWish {
  dailyGasLimit?: bigint
  baseFeeGwei?: bigint
  /** What is booked already; '' is all of it. */
  spent?: Record<string, bigint>
  /** Units of gas that settlements of the caller take which are under way. */
  underWay?: bigint
}

/** A guard with a dollar a day for what settles nothing. */
function aGuard({ dailyGasLimit, baseFeeGwei = 20n, spent = {}, underWay = 0n }: GuardWish = {}) {
  const days = new Set<string>()
  const booked = async (day: string, name: string) => {
    days.add(day)
    return spent[name] ?? 0n
  }
  const guard = createGasGuard({
    network: 'eip155:5042',
    budgets: {
      spentOn: (_network, day) => booked(day, ''),
      burntBy: (_network, day, name) => booked(day, name),
    },
    dailyGasLimit,
    limits: { perAccount: DOLLAR, wasted: DOLLAR },
    maxFeePerGas: 100n * GWEI,
    baseFeePerGas: () => baseFeeGwei * GWEI,
    gas: createGasModel(),
    expectedGas: () => ({ all: underWay, newcomers: underWay, of: new Map([[caller, underWay]]) }),
    now: () => noon,
  })
  const ask = async (question: Partial<Parameters<typeof guard>[0]> = {}) =>
    (await guard({ account, hasCode: false, caller, payTo, standing: 'none', ...question }))?.reason
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

  it('must fit beside what a wallet with code burnt, at worst, and beside the share of its caller', async () => {
    const hasCode = true
    expect(await aGuard().ask({ hasCode })).toBeUndefined()
    const nearly = { [account]: DOLLAR - 1n }
    expect(await aGuard({ spent: nearly }).ask({ hasCode })).toBe(refused)
    const half = { [WASTED.coded]: DOLLAR / 2n, [wastedBy('coded', caller)]: DOLLAR / 2n }
    expect(await aGuard({ spent: half }).ask({ hasCode })).toBe(refused)
    expect(await aGuard({ spent: half }).ask({ hasCode, caller: 'another' })).toBeUndefined()
    expect(await aGuard({ spent: half }).ask({ hasCode, standing: 'own' })).toBeUndefined()
    const all = { [WASTED.coded]: DOLLAR }
    expect(await aGuard({ spent: all }).ask({ hasCode, standing: 'own' })).toBe(refused)
    expect(await aGuard({ spent: all }).ask()).toBeUndefined()
    const byPlain = { [WASTED.plain]: DOLLAR }
    expect(await aGuard({ spent: byPlain }).ask({ hasCode })).toBeUndefined()
  })
})

describe('the ceiling of a day', () => {
  const dailyGasLimit = 8n * DOLLAR
  /** What so many dollars of settlements for recipients without standing leave in the books. */
  const newcomers = (dollars: bigint, by: Record<string, bigint> = {}) => ({
    dailyGasLimit,
    spent: { '': dollars * DOLLAR, [NEWCOMERS]: dollars * DOLLAR, ...by },
  })

  it('stops everything once settlements have spent it', async () => {
    const standing = 'own'
    const spent = { '': 7n * DOLLAR }
    expect(await aGuard({ dailyGasLimit, spent }).ask({ standing })).toBeUndefined()
    expect(await aGuard({ dailyGasLimit, spent: { '': 8n * DOLLAR } }).ask({ standing })).toBe(
      refused,
    )
  })

  it('does not count what bought nothing', async () => {
    for (const name of [WASTED.plain, WASTED.coded]) {
      const spent = { '': 8n * DOLLAR, [name]: DOLLAR }
      expect(await aGuard({ dailyGasLimit, spent }).ask({ standing: 'own' })).toBeUndefined()
    }
  })

  it('keeps half for recipients with standing', async () => {
    expect(await aGuard(newcomers(4n)).ask()).toBe(refused)
    expect(await aGuard(newcomers(4n)).ask({ standing: 'known' })).toBeUndefined()
  })

  it('gives no caller and no recipient more than it leaves to others', async () => {
    for (const name of [spentBy(caller), spentBy(payTo)]) {
      expect(await aGuard(newcomers(2n, { [name]: 2n * DOLLAR })).ask()).toBe(refused)
      expect(await aGuard(newcomers(2n, { [name]: DOLLAR })).ask()).toBeUndefined()
    }
    const other = { caller: 'another', payTo: account } as const
    expect(await aGuard(newcomers(2n, { [spentBy(caller)]: 2n * DOLLAR })).ask(other)).toBe(
      undefined,
    )
    // Two callers have had a third each.
    expect(await aGuard(newcomers(3n, { [spentBy(caller)]: (3n * DOLLAR) / 2n })).ask()).toBe(
      refused,
    )
    expect(await aGuard(newcomers(3n)).ask()).toBeUndefined()
  })

  it('counts what is under way', async () => {
    const most = (2n * DOLLAR) / (20n * GWEI + 1_000_000n)
    expect(await aGuard({ ...newcomers(0n), underWay: most - 200_000n }).ask()).toBeUndefined()
    expect(await aGuard({ ...newcomers(0n), underWay: most + 1n }).ask()).toBe(refused)
    const other = { caller: 'another' }
    expect(await aGuard({ ...newcomers(0n), underWay: most + 1n }).ask(other)).toBeUndefined()
  })
})
