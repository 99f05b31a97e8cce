import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startArchivist } from '../../../src/store/archive.js'

let root: string
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  root = mkdtempSync(join(tmpdir(), 'arcus-archivist-'))
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(root, { recursive: true, force: true })
})

it('an archive that cannot be written is reported each minute until it can be', async () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  let failures = 0
  const archivist = startArchivist({
    shelves: [],
    folder: join(file, 'archive'),
    retentionDays: 1,
    mayRun: () => true,
    onFailure: () => failures++,
    now: Date.now,
    log: { info() {}, error() {} },
  })
  for (const expected of [1, 2, 3]) {
    await vi.waitFor(() => expect(failures).toBe(expected), { timeout: 15_000 })
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(60_000)
  }
  await vi.waitFor(() => expect(failures).toBe(4), { timeout: 15_000 })
  rmSync(file)
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(180_000)
  await archivist.stop()
  expect(failures).toBe(4)
})
