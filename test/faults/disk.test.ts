import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { somePayments } from './support/payments.js'
import {
  auditWorld,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

const disk = mountSmallDisk('3m')
const largerDisk = mountSmallDisk('24m')
let world: World

afterEach(() => world?.close())
afterAll(() => {
  for (const folder of [disk, largerDisk]) {
    if (folder === undefined) continue
    execFileSync('umount', [folder])
    rmSync(folder, { recursive: true })
  }
})

// Only root may mount a small disk; elsewhere these cases are skipped.
describe.skipIf(disk === undefined)('a full disk under the journal', () => {
  it('sends nothing that could not be kept, and goes on when there is room', async () => {
    world = await startWorld({ databaseFolder: disk as string })
    await world.client.settleAll(await somePayments(5))
    const empty = fill()
    const payments = await somePayments(40)
    const before = (await auditWorld(world)).onChain
    const answers = await world.client.settleAll(payments)
    const told = answers.filter(({ body }) => body?.success).length
    const refused = answers.filter(({ body }) => body?.success === false).length
    expect(told + refused).toBe(payments.length)
    expect(refused).toBeGreaterThan(0)
    expect((await auditWorld(world)).onChain - before).toBeGreaterThanOrEqual(told)
    expect((await fetch(`${world.service().url}/ready`)).status).toBe(503)
    expect(mostInASecond(world.service().log())).toBeLessThanOrEqual(2)
    empty()
    await expectAllSettledAndTrue(world, payments)
  })

  it('that fills while transactions are under way loses none of their outcomes', async () => {
    world = await startWorld({ databaseFolder: disk as string })
    const payments = await somePayments(30)
    const goOn = await world.holdBlocks()
    const settling = world.client.settleAll(payments)
    await until('something was sent', () => world.proxy.count('eth_sendRawTransaction') > 0)
    await pause(300)
    const empty = fill()
    await goOn()
    await pause(3_000)
    empty()
    await settling
    await expectAllSettledAndTrue(world, payments)
  })
})

describe.skipIf(largerDisk === undefined)('a disk that is nearly full', () => {
  const ready = async () => {
    const answer = await fetch(`${world.service().url}/ready`)
    const { checks } = (await answer.json()) as { checks: { name: string; detail: string }[] }
    const detail = checks.find(({ name }) => name === 'disk')?.detail
    return { status: answer.status, detail }
  }
  const settledInSums = () => {
    const database = new Sqlite(world.databasePath, { readonly: true })
    const sql = "SELECT sum(count) FROM activity_sums WHERE merchant_id = '' AND state = 'settled'"
    const counted = database.prepare(sql).pluck().get()
    database.close()
    return (counted as number | null) ?? 0
  }

  it('keeps payments and nothing else, says so, and keeps the rest again when there is room', async () => {
    world = await startWorld({ databaseFolder: largerDisk as string })
    const first = await somePayments(5)
    await world.client.settleAll(first)
    await until('activity is kept', () => settledInSums() === 5)
    expect(await ready()).toMatchObject({
      status: 200,
      detail: expect.stringMatching(/^[\d.]+ [GM]iB free$/),
    })
    // A tenth of the disk is 2.4 MB.
    const empty = fill(largerDisk as string, 1.5 * 2 ** 20)
    await until(
      'it is noticed',
      async () => (await ready()).detail?.includes('nearly full') === true,
    )
    const meanwhile = await somePayments(20)
    const answers = await world.client.settleAll(meanwhile)
    expect(answers.filter(({ body }) => body?.success)).toHaveLength(20)
    expect((await ready()).status).toBe(200)
    const metrics = await (await fetch(`${world.service().url}/metrics`)).text()
    expect(metrics).toContain('arcus_disk_low 1')
    expect(metrics).toMatch(/arcus_activity_dropped 2\d/)
    expect(settledInSums()).toBe(5)
    empty()
    await until(
      'there is room',
      async () => (await ready()).detail?.includes('nearly full') === false,
    )
    const last = await somePayments(3)
    await world.client.settleAll(last)
    await until('activity is kept again', () => settledInSums() === 8)
    await expectAllSettledAndTrue(world, [...first, ...meanwhile, ...last])
  })
})

/** Returns the largest number of lines about the disk that say the same within a second. */
function mostInASecond(log: readonly string[]): number {
  const counts = new Map<string, number>([['', 0]])
  for (const line of log.filter((it) => it.includes('SQLITE_FULL'))) {
    const { time, msg } = JSON.parse(line) as { time: string; msg: string }
    const kind = `${time.slice(0, 19)} ${msg}`
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return Math.max(...counts.values())
}

function mountSmallDisk(size: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

/** Takes the last byte of the disk, or all but so many; gives how to free it again. */
function fill(folder = disk as string, leaving = 0): () => void {
  const path = join(folder, 'filler')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4_096)
  let size = 0
  try {
    for (;;) size += writeSync(file, block)
  } catch {
    // Full.
  }
  ftruncateSync(file, Math.max(0, size - leaving))
  closeSync(file)
  return () => rmSync(path)
}
