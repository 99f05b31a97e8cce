import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetBuyback, devnetHost } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { anAccount } from '../support/an-account.js'
import { payingBy } from '../support/paying.js'
import { ConnectionDropped, type Phase } from './support/rpc-proxy.js'
import { startWorld, until, type World } from './support/world.js'

const FEES_PRICE = 5_000n
const CALLS = 3n
/** Ten calls, as the plugin asks for. */
const DEPOSIT = 10n * FEES_PRICE
const env = {
  HOSTED_PRIVATE_KEY: devnetHost.privateKey,
  // Long enough for the calls to be over when the first round begins; another begins at each start.
  HOSTED_CLAIM_SECONDS: '8',
  BUYBACK_ADDRESS: devnetBuyback.address,
}
const PATIENCE_MS = 40_000

let world: World

afterEach(() => world?.close())

describe('a process with hosted endpoints that dies in a round of claims', () => {
  const moments: [string, string, string, Phase][] = [
    ['before the claim is sent', 'batch-claim', 'eth_sendRawTransaction', 'before'],
    ['after the claim is sent', 'batch-claim', 'eth_sendRawTransaction', 'after'],
    ['before it knows that the claim landed', 'batch-claim', 'eth_getBlockReceipts', 'before'],
    ['claimed and not settled', 'batch-settle', 'eth_sendRawTransaction', 'before'],
    ['after the payout is sent', 'batch-settle', 'eth_sendRawTransaction', 'after'],
  ]
  it.each(moments)(
    '%s has what was earned paid out once, and goes on selling',
    async (_, kind, method, phase) => {
      world = await startWorld({ env })
      const pay = await aBuyer()
      let isDead = false
      const lift = world.proxy.onCall(method, phase, async () => {
        if (isDead || !isSigned(kind)) return
        isDead = true
        await world.service().crash()
        throw new ConnectionDropped()
      })
      for (let i = 0n; i < CALLS; i++) expect((await pay(urlOf('fees'))).status).toBe(200)
      await until('it died', () => isDead, PATIENCE_MS)
      lift()
      await world.restart()
      await until('it is paid out', async () => (await paidOut()) > 0n, PATIENCE_MS)
      const goOn = await pay(urlOf('fees'))
      expect(goOn.status).toBe(200)
      expect(await paidOut()).toBe(CALLS * FEES_PRICE)
      expect(await usdcBalance(world.chainUrl, devnetContracts.batchSettlement)).toBe(
        DEPOSIT - CALLS * FEES_PRICE,
      )
    },
    120_000,
  )
})

const urlOf = (path: string) => `${world.service().url}/hosted/${path}`
const paidOut = () => usdcBalance(world.chainUrl, devnetBuyback.address)

async function aBuyer(): Promise<typeof fetch> {
  const account = anAccount()
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const client = new BatchSettlementEvmScheme(account)
  return payingBy(client)
}

/** Tells whether a transaction was signed for a job of the kind. */
function isSigned(kind: string): boolean {
  const journal = new Sqlite(world.databasePath, { readonly: true })
  const sql = 'SELECT 1 FROM attempt_jobs a JOIN jobs j ON j.id = a.job_id WHERE j.kind = ?'
  const row = journal.prepare(sql).get(kind)
  journal.close()
  return row !== undefined
}
