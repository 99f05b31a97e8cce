import { execFile } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { reasons } from '@arcus/protocol/x402/reasons'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment, type SignedPayment, waiting } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { arcus } from '../support/scripts.js'

const used = reasons.nonceAlreadyUsed.code
const folder = mkdtempSync(join(tmpdir(), 'arcus-restore-'))
const backup = join(folder, 'backup.db')

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(async () => {
  await world.stop()
  rmSync(folder, { recursive: true })
})

const settle = (payment: SignedPayment) => world.post('/settle', payment)

const run = (command: 'backup' | 'restore', args: string[]) =>
  promisify(execFile)(process.execPath, arcus(command, ...args), {
    env: { PATH: process.env.PATH },
  })

it('a restored database gives no success twice, whatever state the payment has in the backup', async () => {
  const verified = await aSignedPayment()
  expect((await world.post('/verify', verified)).body.isValid).toBe(true)
  // Blocks stand still: one payment is under way in the backup, another has failed in it.
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const submitted = await aSignedPayment()
  expect((await settle(waiting(submitted, 2))).body.errorReason).toBe('settlement_pending')

  await run('backup', [backup, '--from', `sqlite:${world.databasePath}`])

  await call(world.chainUrl, 'evm_setAutomine', [true])
  await call(world.chainUrl, 'evm_mine')
  const told = new Map<SignedPayment, Hex>()
  for (const payment of [verified, submitted]) {
    const { body } = await settle(payment)
    expect(body.success).toBe(true)
    told.set(payment, body.transaction)
  }
  const untouched = await aSignedPayment()

  await world.stopService()
  for (const rest of ['', '-wal', '-shm']) {
    try {
      renameSync(world.databasePath + rest, join(folder, `damaged.db${rest}`))
    } catch {
      // A service that stopped leaves no log.
    }
  }
  await run('restore', [backup, '--to', `sqlite:${world.databasePath}`])
  await world.startService()

  for (const [payment, transaction] of told) {
    for (let i = 0; i < 2; i++) {
      expect((await settle(payment)).body).toMatchObject({
        success: false,
        errorReason: used,
        transaction,
      })
    }
    expect((await world.post('/verify', payment)).body.invalidReason).toBe(used)
  }
  expect((await settle(untouched)).body.success).toBe(true)
})
