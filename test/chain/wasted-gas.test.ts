import { reasons } from '@arcus/protocol/x402/reasons'
import Sqlite from 'better-sqlite3'
import { createWalletClient, http, numberToHex } from 'viem'
import { mnemonicToAccount, type PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, aClaimOf, type Channel } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { DOLLAR, type GasWorld, lies, saysYes, startGasWorld } from '../support/gas-world.js'

/** The default daily limit of gas that an account may burn: five cents. */
const BUDGET = DOLLAR / 20n
const refused = reasons.gasBudgetExceeded.code

let world: GasWorld
const settle = (body: unknown) => world.settle(body)
const verify = (body: unknown) => world.verify(body)
const setCode = (address: string, code: string) =>
  call(world.chainUrl, 'anvil_setCode', [address, code])

describe('a wallet that lies to the simulation', () => {
  beforeAll(async () => {
    world = await startGasWorld()
  })
  afterAll(() => world.stop())

  it('burns no more than its budget as the authorizer of claims', async () => {
    const authorizer = await world.aWallet(lies(150_000))
    const channels = await world.filledChannels(60, { config: { receiverAuthorizer: authorizer } })
    const large = await aClaimOf(channels, '900000')
    let small: unknown
    const gas = await world.gasOf(async () => {
      for (let i = 0; i < 3; i++) expect(await settle(large)).toMatchObject({ success: false })
      // A smaller one is within the budget, until that is spent.
      await setCode(authorizer, lies(10_000))
      small = await aClaimOf(channels.slice(0, 8), '900000')
      for (let i = 0; i < 9; i++) expect(await settle(small)).toMatchObject({ success: false })
    })
    expect(gas).toBeGreaterThan(0n)
    expect(gas).toBeLessThanOrEqual(BUDGET)
    expect(await settle(small)).toMatchObject({ errorReason: refused, transaction: '' })
  })

  it('burns no more than its budget as the payer of sixty deposits, and verify knows', async () => {
    const payer = await world.aWallet(lies(8_000))
    const deposit = () => aChannel({ config: { payer } }).deposit('1000000')
    const deposits = await Promise.all(Array.from({ length: 60 }, deposit))
    let codes: string[] = []
    const gas = await world.gasOf(async () => {
      codes = (await Promise.all(deposits.map(settle))).map(({ errorReason }) => errorReason)
    })
    expect(codes).toContain(refused)
    expect(gas).toBeGreaterThan(0n)
    expect(gas).toBeLessThanOrEqual(BUDGET)
    expect(await verify(await deposit())).toMatchObject({ isValid: false, invalidReason: refused })
  })

  it('burns no more than its budget as the payer in claims of many authorizers', async () => {
    const payer = await world.aWallet(saysYes)
    const config = { payer, payerAuthorizer: `0x${'0'.repeat(40)}` } as const
    const channels: Channel[] = []
    for (let i = 0; i < 12; i++) channels.push(await world.anOpenChannel({ config }))
    await setCode(payer, lies(5_000))
    const gas = await world.gasOf(() =>
      Promise.all(
        channels.map(async (channel) => {
          const claim = await channel.claim({ max: '900000', total: '900000' })
          expect(await settle(claim)).toMatchObject({ success: false })
        }),
      ),
    )
    expect(gas).toBeGreaterThan(0n)
    expect(gas).toBeLessThanOrEqual(BUDGET)
    // Their authorizers are plain accounts, and answer for nothing of it.
    const [first] = channels as [Channel]
    const honest = await world.filledChannels(1, { authorizer: first.authorizer })
    expect(await settle(await aClaimOf(honest, '900000'))).toMatchObject({ success: true })
  })
})

describe('an account that delegates its code (EIP-7702) after it was checked', () => {
  beforeAll(async () => {
    world = await startGasWorld({ FAILED_GAS_BUDGET_USD: '0.015' })
    await setCode(trap, lies(8_000))
  })
  afterAll(() => world.stop())

  const trap = '0x000000000000000000000000000000000000a11e'

  async function aPayer(): Promise<PrivateKeyAccount> {
    const payer = anAccount()
    await mintUsdc(world.chainUrl, payer.address, 10_000_000n)
    return payer
  }
  const pay = async (payer: PrivateKeyAccount) =>
    settle(await aSignedPayment({ from: payer.address, signer: payer }))

  /** Tries with new payers until all their payments share a transaction; `act` runs before it is mined. */
  async function share(count: number, act: (payers: PrivateKeyAccount[]) => Promise<void>) {
    for (;;) {
      const payers: PrivateKeyAccount[] = []
      // One after another, because anvil may give two mints of one moment the same nonce.
      while (payers.length < count) payers.push(await aPayer())
      let answers: Promise<{ success: boolean }>[] = []
      let isShared = false
      await world.betweenBlocks(async () => {
        answers = payers.map((payer) => pay(payer))
        isShared = await doShare(payers)
        if (isShared) await act(payers)
      })
      const told = (await Promise.all(answers)).map(({ success }) => success)
      if (isShared) return { told, accounts: payers.map(({ address }) => address.toLowerCase()) }
    }
  }

  // The first takes the gas of all the others; the last leaves their transfers, and burns what is left.
  it.each(['first', 'last'])(
    'answers for the gas of the transaction it shared as the %s; the others recover, and pay nothing',
    async (place) => {
      const before = wasted()
      const position = place === 'first' ? 0 : 3
      const { told, accounts } = await share(4, (payers) =>
        delegate(payers.slice(position, position + 1), trap),
      )
      expect(told).toEqual(accounts.map((_, i) => i !== position))
      const booked = burnt()
      const liar = accounts[position] as string
      expect(accounts.filter((account) => account in booked)).toEqual([liar])
      // In the sum of plain accounts what it burnt as one, in the other what it burns as a wallet that is believed once more.
      expect(booked[liar]).toBe(wasted() - before)
      expect(booked['wasted:plain']).toBeGreaterThan(0n)
    },
  )
})

describe('a payout that a stranger asks for', () => {
  beforeAll(async () => {
    world = await startGasWorld()
  })
  afterAll(() => world.stop())

  it('burns nothing of its receiver when the stranger pays it out first', async () => {
    const channel = await world.anOpenChannel()
    await settle(await channel.claim({ max: '900000', total: '900000' }))
    const stranger = '0x0000000000000000000000000000000000057a9e'
    await call(world.chainUrl, 'anvil_impersonateAccount', [stranger])
    await call(world.chainUrl, 'anvil_setBalance', [stranger, numberToHex(DOLLAR)])
    let asked: Promise<unknown> = Promise.resolve()
    await world.betweenBlocks(async () => {
      asked = settle(channel.settle())
      await untilSent()
      const [{ to, input } = { to: '', input: '' }] = await inPool()
      const fees = { maxFeePerGas: numberToHex(10n ** 12n), maxPriorityFeePerGas: '0x3b9aca00' }
      const first = { from: stranger, to, data: input, gas: numberToHex(400_000), ...fees }
      await call(world.chainUrl, 'eth_sendTransaction', [first])
    })
    await asked
    const booked = burnt()
    expect(booked['wasted:plain']).toBeGreaterThan(0n)
    expect(booked['wasted:payouts:127.0.0.1']).toBe(booked['wasted:plain'])
    expect(Object.keys(booked)).not.toContain(channel.receiver.toLowerCase())
  })
})

function rowsOf<Row>(sql: string): Row[] {
  const database = new Sqlite(world.databasePath, { readonly: true })
  try {
    return database.prepare(sql).all() as Row[]
  } finally {
    database.close()
  }
}

/** Reads the gas that is booked by account, without the total. It adds the days up, because a test may run at midnight. */
function burnt(): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  const booked = "SELECT payer, amount FROM gas_spending WHERE payer <> ''"
  for (const { payer, amount } of rowsOf<{ payer: string; amount: string }>(booked)) {
    sums[payer] = (sums[payer] ?? 0n) + BigInt(amount)
  }
  return sums
}

/** Adds up what both kinds of accounts wasted. */
function wasted(): bigint {
  const { 'wasted:plain': plain = 0n, 'wasted:coded': coded = 0n } = burnt()
  return plain + coded
}

/** Returns the transactions that wait for a block. */
async function inPool() {
  const pool = await call<{
    pending: Record<string, Record<string, { to: string; input: string }>>
  }>(world.chainUrl, 'txpool_content')
  return Object.values(pool.pending).flatMap((ofSender) => Object.values(ofSender))
}

async function untilSent(): Promise<void> {
  while ((await inPool()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
}

/**
 * Tells whether these payers' payments wait in one transaction, in this order. On a busy machine each may get a
 * transaction of its own, or be checked before an earlier one.
 */
async function doShare(payers: readonly PrivateKeyAccount[]): Promise<boolean> {
  await untilSent()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const [shared, ...others] = await inPool()
  if (shared === undefined || others.length > 0) return false
  const places = payers.map(({ address }) => shared.input.indexOf(address.slice(2).toLowerCase()))
  return places.every((place, i) => place > (places[i - 1] ?? 0))
}

/** Sends a transaction with these delegations, before all that the service sends. */
async function delegate(accounts: PrivateKeyAccount[], contractAddress: `0x${string}`) {
  // An account that anvil has filled.
  const mnemonic = 'test test test test test test test test test test test junk'
  const account = mnemonicToAccount(mnemonic, { addressIndex: 9 })
  const client = createWalletClient({ account, transport: http(world.chainUrl) })
  const authorizationList = await Promise.all(
    accounts.map((it) => it.signAuthorization({ contractAddress, chainId: 5042, nonce: 0 })),
  )
  await client.sendTransaction({
    chain: null,
    to: account.address,
    authorizationList,
    gas: 500_000n,
    // Anvil orders by the ceiling; the service offers 60 gwei.
    maxFeePerGas: 100n * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 10n,
  })
}
