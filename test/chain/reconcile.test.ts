import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { reasons } from '@arcus/protocol/x402/reasons'
import Sqlite from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { deployRelayerMulticall } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { ConnectionDropped, type RpcProxy, startRpcProxy } from '../faults/support/rpc-proxy.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { arcus } from '../support/scripts.js'
import { sendToToken } from '../support/token.js'

const used = reasons.nonceAlreadyUsed.code
const network = 'eip155:5042'
const folder = mkdtempSync(join(tmpdir(), 'arcus-reconcile-'))
const lost = join(folder, 'lost.db')

const [keyInSettings, rotated] = devnetRelayers as [
  (typeof devnetRelayers)[number],
  (typeof devnetRelayers)[number],
]
const keys = [keyInSettings, rotated].map(({ privateKey }) => privateKey)

let world: World
let proxy: RpcProxy
let multicall: Hex
beforeAll(async () => {
  // A third wallet of the devnet is a stranger's.
  world = await startWorld({
    env: { RATE_LIMIT_MAX: '0', RELAYER_PRIVATE_KEYS: keys.join(',') },
    async between(chainUrl) {
      const wallets = [keyInSettings.address, rotated.address]
      multicall = await deployRelayerMulticall(chainUrl, wallets)
      return chainUrl
    },
  })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 15n)
  proxy = await startRpcProxy(world.chainUrl)
})
afterAll(async () => {
  await world.stop()
  await proxy.close()
  rmSync(folder, { recursive: true })
})

const settle = (payment: SignedPayment) => world.post('/settle', payment)
const lookUp = async ({ paymentPayload }: SignedPayment) => {
  const { from, nonce } = paymentPayload.payload.authorization
  const { status, body } = await world.get(`/payments/${network}/${from}/${nonce}`)
  return { status, body }
}
const nonceOf = ({ paymentPayload }: SignedPayment) =>
  paymentPayload.payload.authorization.nonce as Hex

/** Runs the command with one of the two keys; the other one was taken out since. */
async function reconcile(...given: string[]) {
  const args = ['--relayer', rotated.address, ...given]
  const env = {
    PATH: process.env.PATH,
    ARCUS_OPERATOR: 'alice',
    MAINNET_RPC_URLS: proxy.url,
    RELAYER_PRIVATE_KEYS: keyInSettings.privateKey,
    DATABASE_URL: `sqlite:${world.databasePath}`,
  }
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      arcus('reconcile', ...args),
      {
        cwd: folder,
        env,
      },
    )
    return { code: 0, text: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, text: stdout + stderr }
  }
}

/** The rows by nonce, without what only the lost journal knew. */
function rowsOf(path: string) {
  const database = new Sqlite(path)
  const rows = database
    .prepare(
      `SELECT key, digest, "to", calldata, expires_at, state, "transaction", block_number, gas_cost, transfer_log,
         delivered_at IS NOT NULL AS is_delivered, details FROM jobs ORDER BY key`,
    )
    .all() as { details: string }[]
  database.close()
  return rows.map(({ details, ...row }) => {
    const known = JSON.parse(details)
    // The chain does not say when a payment was claimed and who brought it.
    for (const name of ['claimedAt', 'isAlone', 'caller', 'standing']) delete known[name]
    return { ...row, details: known }
  })
}

function change(payment: SignedPayment, assignments: string): void {
  const database = new Sqlite(world.databasePath)
  const { changes } = database
    .prepare(`UPDATE jobs SET ${assignments} WHERE key LIKE ?`)
    .run(`%${nonceOf(payment)}`)
  expect(changes).toBe(1)
  database.close()
}

const told = new Map<SignedPayment, { transaction: Hex; status: Record<string, unknown> }>()

async function expectUsed(): Promise<void> {
  for (const [payment, { transaction }] of told) {
    expect((await settle(payment)).body).toMatchObject({
      success: false,
      errorReason: used,
      transaction,
    })
  }
}

it('a lost journal is rebuilt from the chain, and answers no success twice', async () => {
  // Some travel together, and one alone.
  const payments = await Promise.all(Array.from({ length: 12 }, () => aSignedPayment()))
  const alone = await aSignedPayment()
  const answers = await Promise.all(payments.map(settle))
  answers.push(await settle(alone))
  for (const [i, payment] of [...payments, alone].entries()) {
    const { success, transaction } = answers[i]?.body ?? {}
    expect(success).toBe(true)
    told.set(payment, { transaction, status: (await lookUp(payment)).body })
  }
  expect(new Set([...told.values()].map((it) => it.transaction)).size).toBeLessThan(told.size)
  const foreign = await aSignedPayment()
  await sendToToken(world.chainUrl, foreign)

  await world.stopService()
  renameSync(world.databasePath, lost)
  for (const rest of ['-wal', '-shm']) rmSync(world.databasePath + rest, { force: true })

  const early = await reconcile('--from-block', '0')
  expect(early).toMatchObject({ code: 1, text: expect.stringContaining('There is no database') })
  expect(existsSync(world.databasePath)).toBe(false)
  const { code, text } = await reconcile('--since', '2026-01-01', '--write')
  expect(text).toContain('0 rows are as on chain, 13 missing, 0 failed')
  expect(text).toContain('13 written.')
  expect(code).toBe(0)
  expect(rowsOf(world.databasePath)).toEqual(rowsOf(lost))
  const again = await reconcile('--from-block', '0', '--write')
  expect(again.text).toContain('13 rows are as on chain, 0 missing, 0 failed')
  expect(again.text).toContain('0 written.')
  expect(again.code).toBe(0)

  await world.startService()
  for (const [payment, { status }] of told) {
    const body = (await lookUp(payment)).body
    // The chain tells neither the id nor the times of the service.
    const { settlementId, paymentId, createdAt, sentAt, updatedAt, deliveredAt } = body
    const own = { settlementId, paymentId, createdAt, sentAt, updatedAt, deliveredAt }
    expect(body).toMatchObject({ ...status, ...own })
  }
  expect((await lookUp(foreign)).status).toBe(404)
  await expectUsed()
})

it('next to the service a dry run only reports, and --write corrects failed rows alone', async () => {
  const [failed, open, different, ...rest] = [...told.keys()] as [
    SignedPayment,
    SignedPayment,
    SignedPayment,
    ...SignedPayment[],
  ]
  const undelivered = 'delivered_at = NULL, delivered_key = NULL'
  change(
    failed,
    `state = 'failed', reason = 'validBefore', message = 'Too late.', "transaction" = NULL, block_number = NULL,
     transfer_log = NULL, ${undelivered}`,
  )
  change(open, `state = 'submitted', transfer_log = NULL, ${undelivered}`)
  change(different, 'block_number = block_number - 1')
  const before = rowsOf(world.databasePath)

  const dry = await reconcile('--from-block', '0')
  expect(dry.code).toBe(1)
  expect(dry.text).toContain(`${rest.length} rows are as on chain, 0 missing, 1 failed, 1 open, 1`)
  expect(dry.text).toContain('2 payments are not in the journal as on chain. Nothing was written')
  const lineOf = (payment: SignedPayment) =>
    dry.text.split('\n').find((line) => line.includes(nonceOf(payment)))
  expect(lineOf(failed)).toMatch(/^failed .*\(journal: failed, Too late\.\)$/)
  expect(lineOf(open)).toMatch(/^open /)
  expect(lineOf(different)).toMatch(/^differs /)
  expect(rowsOf(world.databasePath)).toEqual(before)

  const written = await reconcile('--from-block', '0', '--write')
  expect(written.code).toBe(1)
  expect(written.text).toContain('1 different; 1 written.')
  const key = (payment: SignedPayment) => expect.stringContaining(nonceOf(payment))
  const after = rowsOf(world.databasePath)
  const original = rowsOf(lost)
  expect(after).toContainEqual({
    ...original.find((row) => key(failed).asymmetricMatch(JSON.stringify(row))),
  })
  for (const untouched of [open, different]) {
    const was = before.find((row) => key(untouched).asymmetricMatch(JSON.stringify(row)))
    expect(after).toContainEqual(was)
  }
  change(open, `state = 'confirmed', delivered_at = 1`)
  change(different, 'block_number = block_number + 1')
  await expectUsed()
  expect((await reconcile('--from-block', '0')).code).toBe(0)

  const database = new Sqlite(world.databasePath, { readonly: true })
  const trail = database
    .prepare(`SELECT actor, subject FROM audit WHERE action = 'reconcile'`)
    .all()
  database.close()
  expect(trail).toEqual(Array.from({ length: 3 }, () => ({ actor: 'alice', subject: network })))
})

it('an interrupted run says where to go on, and goes on there', async () => {
  const payment = await aSignedPayment()
  await call(world.chainUrl, 'anvil_mine', ['0x4b0'])
  const { body } = await settle(payment)
  expect(body.success).toBe(true)
  const database = new Sqlite(world.databasePath)
  // The lost rows have no attempts: the service that settled them is gone with them.
  database.prepare('DELETE FROM attempt_jobs').run()
  database.prepare('DELETE FROM jobs').run()
  database.close()

  let asked = 0
  proxy.fault('eth_getLogs', async ({ forward }) => {
    if (++asked <= 4) return forward()
    throw new ConnectionDropped()
  })
  const cut = await reconcile('--from-block', '0', '--write')
  proxy.mend()
  expect(cut.code).toBe(1)
  expect(cut.text).toContain(`Go on with --network ${network} --from-block 1000.`)
  const first = rowsOf(world.databasePath)
  expect(first).toHaveLength(told.size)
  const { code, text } = await reconcile('--from-block', '1000', '--write')
  expect(text).toContain('0 rows are as on chain, 1 missing')
  expect(code).toBe(0)
  expect(rowsOf(world.databasePath)).toHaveLength(told.size + 1)
  expect((await settle(payment)).body).toMatchObject({
    errorReason: used,
    transaction: body.transaction,
  })
})

it('payments by Permit2 are rebuilt, through the multicall, by a wallet, and of both schemes', async () => {
  const payments = await Promise.all([
    ...Array.from({ length: 4 }, () => aPermit2Payment({ facilitator: multicall })),
    aPermit2Payment({ facilitator: rotated.address }),
  ])
  const from = 1 + Number(await call<Hex>(world.chainUrl, 'eth_blockNumber', []))
  const bodies = payments.map((payment) => charging(payment, 700n))
  bodies.push(await aPermit2Payment({ scheme: 'exact' }))
  const answers = await Promise.all(bodies.map((body) => world.post('/settle', body)))
  expect(answers.map(({ body }) => body.success)).toEqual(bodies.map(() => true))
  const before = rowsOf(world.databasePath)
  const database = new Sqlite(world.databasePath)
  database.exec(
    `DELETE FROM attempt_jobs WHERE job_id IN (SELECT id FROM jobs WHERE kind = 'permit2')`,
  )
  expect(database.prepare(`DELETE FROM jobs WHERE kind = 'permit2'`).run().changes).toBe(6)
  database.close()

  const { code, text } = await reconcile('--from-block', String(from), '--write')
  expect(text).toContain('0 rows are as on chain, 6 missing')
  expect(text).toContain('6 written.')
  expect(code).toBe(0)
  expect(rowsOf(world.databasePath)).toEqual(before)
  for (const [i, body] of bodies.entries()) {
    expect((await world.post('/settle', body)).body).toMatchObject({
      success: false,
      errorReason: 'permit2_invalid_nonce',
      transaction: answers[i]?.body.transaction,
    })
  }
})

it('misunderstandings are exit code 2, blocks that are not there 1', async () => {
  const misunderstood = [
    [],
    ['--since', 'yesterday'],
    ['--from-block', 'x'],
    ['--since', '2026-01-01', '--from-block', '1'],
    ['--from-block', '1', '--relayer', 'alice'],
    ['--from-block', '1', '--network', 'eip155:1'],
  ]
  const runs = misunderstood.map(async (args) => (await reconcile(...args)).code)
  expect(await Promise.all(runs)).toEqual(misunderstood.map(() => 2))
  const late = await reconcile('--since', '2999-01-01')
  expect(late).toMatchObject({ code: 1, text: expect.stringContaining('no such blocks') })
})
