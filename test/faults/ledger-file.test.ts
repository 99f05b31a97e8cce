import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entriesOf } from '@arcus/client/ledger'
import { createFileLedger } from '@arcus/client/ledger-file'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleClientCommand } from '../support/client-command.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-ledger-kills-'))
const ledgers = join(folder, 'ledgers')
const path = join(ledgers, 'ledger.jsonl')
const LANES = 4
const KILLS = 12

let script: string

beforeAll(async () => {
  script = await bundleClientCommand(folder, 'test/faults/support/ledger-writer.ts')
  mkdirSync(ledgers)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a writer until it is killed. Resolves to how many signatures and how many whole calls it had on disk. */
function killed(lane: string, afterMs: number): Promise<{ signed: number; paid: number }> {
  const child = spawn(process.execPath, [script, path, lane], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (part) => {
    said += part
    // It is killed some time after its first step, because its start takes longer than the rest.
    if (said.length === part.length) setTimeout(() => child.kill('SIGKILL'), afterMs)
  })
  const count = (what: string) => said.split(what).length - 1
  return new Promise((resolve, reject) => {
    child.once('close', (_, signal) => {
      if (signal === 'SIGKILL') resolve({ signed: count('s'), paid: count('p') })
      else reject(new Error('the writer ended by itself'))
    })
  })
}

it('no call is lost or counted twice where writers of one ledger are killed while it changes files', async () => {
  const counts = { signed: 0, paid: 0 }
  async function run(lane: string): Promise<void> {
    for (let n = 0; n < KILLS; n++) {
      const { signed, paid } = await killed(lane, 100 + Math.random() * 400)
      counts.signed += signed
      counts.paid += paid
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, lane) => run(String(lane))))

  const entries = entriesOf(await createFileLedger(path).read())
  const signed = entries.filter(({ state }) => state !== 'reserved' && state !== 'released')
  const spent = signed.reduce((sum, entry) => sum + Number(entry.spent), 0)
  expect(counts.paid).toBeGreaterThan(1_000)
  // One signature of each killed writer may be on disk without having said so.
  expect(spent).toBeGreaterThanOrEqual(counts.signed)
  expect(spent).toBeLessThanOrEqual(counts.signed + LANES * KILLS)
  const numbers = readdirSync(ledgers).map((name) => Number(name.split('.part')[1] ?? 1))
  expect(numbers).toHaveLength(2)
  expect(Math.max(...numbers)).toBeGreaterThan(50)
}, 120_000)
