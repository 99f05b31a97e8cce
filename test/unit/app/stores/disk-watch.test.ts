import { afterEach, expect, it, vi } from 'vitest'
import { type DiskWatch, type Space, watchDisk } from '../../../../src/app/stores/disk-watch.js'

const MB = 2 ** 20
let watch: DiskWatch | undefined
afterEach(() => watch?.stop())

async function aWatch(space: () => Space, minFreeBytes = 256 * MB) {
  const said: string[] = []
  const say = (_: object, message: string) => void said.push(message)
  watch = await watchDisk({
    folder: '/data',
    minFreeBytes,
    log: { warn: say, info: say },
    readSpace: async () => space(),
    checkMs: 5,
  })
  return { watch, said }
}

it('is low below its bound, and no more once a quarter more than that is free', async () => {
  let freeBytes = 300 * MB
  const { watch, said } = await aWatch(() => ({ freeBytes, sizeBytes: 100_000 * MB }))
  expect(watch.isLow()).toBe(false)
  freeBytes = 255 * MB
  await vi.waitUntil(() => watch.isLow(), 15_000)
  expect(watch.freeBytes()).toBe(255 * MB)
  freeBytes = 300 * MB
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(watch.isLow()).toBe(true)
  freeBytes = 321 * MB
  await vi.waitUntil(() => !watch.isLow(), 15_000)
  expect(said).toEqual([
    'the disk is nearly full: activity and listings are not kept',
    'the disk has room again: activity and listings are kept',
  ])
})

it('is low on a small disk below a tenth of it', async () => {
  const small = await aWatch(() => ({ freeBytes: 9 * MB, sizeBytes: 80 * MB }))
  expect(small.watch.isLow()).toBe(false)
  small.watch.stop()
  const full = await aWatch(() => ({ freeBytes: 7 * MB, sizeBytes: 80 * MB }))
  expect(full.watch.isLow()).toBe(true)
})

it('stays as it was when the disk cannot be read, and says so once', async () => {
  let fails = false
  const { watch, said } = await aWatch(() => {
    if (fails) throw new Error('no such folder')
    return { freeBytes: 1, sizeBytes: 1_000 }
  })
  fails = true
  await vi.waitUntil(() => said.length === 2, 15_000)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(said.at(-1)).toBe('the free space of the disk could not be read')
  expect(said).toHaveLength(2)
  expect(watch.isLow()).toBe(true)
})

it('reads nothing where the database is elsewhere, or where no bound is set', async () => {
  const log = { warn() {}, info() {} }
  const elsewhere = await watchDisk({ folder: undefined, minFreeBytes: MB, log })
  expect([elsewhere.isLow(), elsewhere.freeBytes()]).toEqual([false, undefined])
  const { watch } = await aWatch(() => ({ freeBytes: 0, sizeBytes: 1 }), 0)
  expect([watch.isLow(), watch.freeBytes()]).toEqual([false, undefined])
})

it('reads a real disk', async () => {
  const log = { warn() {}, info() {} }
  watch = await watchDisk({ folder: process.cwd(), minFreeBytes: 1, log })
  expect(watch.freeBytes()).toBeGreaterThan(0)
})
