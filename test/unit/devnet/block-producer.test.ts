import { type Hex, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type Anvil,
  nextBaseFeeWei,
  startAnvil,
  startBlockProducer,
} from '../../../src/devnet/anvil.js'
import { call } from '../../../src/devnet/rpc.js'

const gwei = 10n ** 9n
const gasLimit = 30_000_000n

type Block = { number: Hex; timestamp: Hex; baseFeePerGas: Hex; transactions: Hex[] }

let anvil: Anvil

beforeAll(async () => {
  anvil = await startAnvil({ mining: 'manual' })
})

afterAll(() => anvil.stop())

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const readBlock = (at: string) => call<Block>(anvil.url, 'eth_getBlockByNumber', [at, false])

const heightNow = async () => Number((await readBlock('latest')).number)

describe('startBlockProducer', () => {
  it('mines at its pace on the second of the wall clock, until it is stopped', async () => {
    const startedAt = Date.now()
    const producer = await startBlockProducer({ url: anvil.url, intervalMs: 200 })
    await vi.waitUntil(async () => (await heightNow()) >= 8, { timeout: 30_000, interval: 20 })
    await producer.stop()
    const endedAt = Date.now()
    const height = await heightNow()
    // The first block comes at once; a late one is not made up for.
    expect(endedAt - startedAt).toBeGreaterThan((height - 2) * 200)
    const numbers = Array.from({ length: height }, (_, index) => toHex(index + 1))
    const seconds = (await Promise.all(numbers.map(readBlock))).map((it) => Number(it.timestamp))
    expect(seconds).toEqual([...seconds].sort((a, b) => a - b))
    expect(new Set(seconds).size).toBeLessThan(height)
    expect(seconds[0]).toBeGreaterThanOrEqual(Math.floor(startedAt / 1000))
    expect(seconds.at(-1)).toBeLessThanOrEqual(Math.floor(endedAt / 1000))
    expect(seconds.at(-1)).toBeGreaterThanOrEqual(Math.floor(endedAt / 1000) - 1)
    await pause(400)
    expect(await heightNow()).toBe(height)
  })

  it('continues after another block was mined ahead of the clock', async () => {
    const before = await heightNow()
    const producer = await startBlockProducer({ url: anvil.url, intervalMs: 1_000 })
    // Right after a block of the producer there is time for another one.
    await vi.waitUntil(async () => (await heightNow()) > before, { timeout: 10_000, interval: 20 })
    const ahead = Math.floor(Date.now() / 1000) + 60
    await call(anvil.url, 'evm_mine', [{ timestamp: ahead }])
    const theirs = await heightNow()
    await vi.waitUntil(async () => (await heightNow()) > theirs, { timeout: 10_000, interval: 50 })
    await producer.stop()
    const block = await readBlock('latest')
    // anvil's own clock continues from the time of that block.
    expect(Number(block.timestamp)).toBeGreaterThanOrEqual(ahead)
    expect(Number(block.timestamp)).toBeLessThan(ahead + 30)
    expect(BigInt(block.baseFeePerGas)).toBe(20n * gwei)
  })
})

describe('nextBaseFeeWei', () => {
  const feeAfter = (gasUsed: bigint, baseFeePerGas: bigint) =>
    nextBaseFeeWei({ gasUsed, gasLimit, baseFeePerGas })

  it('is unchanged after a half-full block', () => {
    expect(feeAfter(gasLimit / 2n, 30n * gwei)).toBe(30n * gwei)
  })

  it('moves by two percent at most', () => {
    expect(feeAfter(gasLimit, 100n * gwei)).toBe(102n * gwei)
    expect(feeAfter(0n, 100n * gwei)).toBe(98n * gwei)
  })

  it('keeps within 20 and 20,000 gwei', () => {
    expect(feeAfter(0n, 20n * gwei)).toBe(20n * gwei)
    expect(feeAfter(0n, gwei)).toBe(20n * gwei)
    expect(feeAfter(gasLimit, 20_000n * gwei)).toBe(20_000n * gwei)
  })
})
