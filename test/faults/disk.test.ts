import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { type SignedPayment, somePayments } from './support/payments.js'
import {
  auditWorld,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

const DISK = '3m'
const disk = mountSmallDisk()
let world: World

afterEach(() => world?.close())
afterAll(() => {
  if (disk === undefined) return
  execFileSync('umount', [disk])
  rmSync(disk, { recursive: true })
})

// Only root may mount a small disk; elsewhere these two cases are skipped.
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
    const endedAt = Date.now()
    await settling
    const withinMs = endedAt + 10_000 - Date.now()
    await expectAllSettledAndTrue(world, payments satisfies SignedPayment[], { withinMs })
  })
})

function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder], { stdio: 'pipe' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

/** Takes the last byte of the disk; gives how to free it again. */
function fill(): () => void {
  const path = join(disk as string, 'filler')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4_096)
  try {
    for (;;) writeSync(file, block)
  } catch {
    // Full.
  }
  closeSync(file)
  return () => rmSync(path)
}
