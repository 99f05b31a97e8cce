import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { line, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { startSide } from './sides.js'

/** Verify and settle with a journal of 10,000 and of 1,000,000 settled payments, alternating. */
const SIZES = [10_000, 1_000_000]
const ROUNDS = 3

const folder = mkdtempSync(join(tmpdir(), 'arcus-journal-'))
try {
  const files = SIZES.map((size) => {
    const file = join(folder, `${size}.db`)
    fill(file, size)
    return { size, file }
  })
  for (let round = 0; round < ROUNDS; round++) {
    for (const { size, file } of files) {
      const side = await startSide('arcus', { env: { DATABASE_URL: `sqlite:${file}` } })
      try {
        await drive(side.url, '/verify', await signPayments(500), 16)
        const verify = await drive(side.url, '/verify', await signPayments(6_000), 64)
        const settle = await drive(side.url, '/settle', await signPayments(1_000), 50)
        line(
          `${size} rows: verify ${short(verify.perSecond)}/s p99 ${short(verify.p99Ms)} ms, ` +
            `settle ${short(settle.perSecond)}/s p50 ${short(settle.p50Ms)} ms, ` +
            `${verify.failed + settle.failed} failed, ${short(side.rssMb())} MB`,
        )
      } finally {
        await side.stop()
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Rows as settling leaves them, of the size they have. */
function fill(file: string, size: number): void {
  const startedAt = performance.now()
  const database = openDatabase(file)
  const insert = database.prepare(
    `INSERT INTO jobs (id, kind, network, key, digest, state, "to", calldata, details, seen_block,
       expires_at, "transaction", block_number, gas_cost, created_at, updated_at, delivered_at)
     VALUES (?, 'exact', 'eip155:5042', ?, ?, 'confirmed', ?, ?, ?, 1, 1, ?, 1, '1', 1, 1, 1)`,
  )
  const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
  const calldata = hex(356)
  const details = JSON.stringify({ from: hex(20), nonce: hex(32), signatureDigest: hex(20) })
  const asset = hex(20)
  const insertMany = database.transaction((count: number) => {
    for (let i = 0; i < count; i++) {
      const key = `${asset}/${hex(20)}/${hex(32)}`
      insert.run(randomUUID(), key, hex(32), asset, calldata, details, hex(32))
    }
  })
  for (let done = 0; done < size; done += 20_000) insertMany(Math.min(20_000, size - done))
  database.close()
  line(`filled ${size} rows in ${short((performance.now() - startedAt) / 1_000)} s`)
}
