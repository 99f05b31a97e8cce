import Sqlite from 'better-sqlite3'
import { type Address, encodeFunctionData, type Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetContracts, fundNative, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { anAccount } from '../support/a-channel.js'
import { aPermit2Payment, approvePermit2 } from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { DOLLAR, type GasWorld, startGasWorld } from '../support/gas-world.js'

const { usdc } = devnetContracts
const usdcAbi = readArtifact('MockUsdc').abi
const GWEI = 10n ** 9n

let world: GasWorld
const settle = (body: unknown) => world.settle(body)

/** An account with so many units, which can also send transactions. */
async function aPayer(units: bigint): Promise<PrivateKeyAccount> {
  const payer = anAccount()
  await mintUsdc(world.chainUrl, payer.address, units)
  await fundNative(world.chainUrl, payer.address, DOLLAR)
  return payer
}

const aUnit = (payer: PrivateKeyAccount, to: Address) =>
  aSignedPayment({ from: payer.address, signer: payer, to, value: 1n })
const aPermit2Unit = (payer: PrivateKeyAccount, to: Address) =>
  aPermit2Payment({ scheme: 'exact', from: payer.address, signer: payer, to, permitted: 1n })

/** Sends a call to the token before everything that the service has sent. */
async function sendFirst(sender: PrivateKeyAccount, functionName: string, args: unknown[]) {
  const nonce = Number(
    await call<Hex>(world.chainUrl, 'eth_getTransactionCount', [sender.address, 'latest']),
  )
  const raw = await sender.signTransaction({
    type: 'eip1559',
    chainId: 5042,
    nonce,
    to: usdc,
    data: encodeFunctionData({ abi: usdcAbi, functionName, args } as never),
    gas: 200_000n,
    maxFeePerGas: 1_000n * GWEI,
    maxPriorityFeePerGas: 100n * GWEI,
  })
  await call(world.chainUrl, 'eth_sendRawTransaction', [raw])
}

const pending = async () =>
  Number((await call<{ pending: Hex }>(world.chainUrl, 'txpool_status')).pending)

/** Settles these payments, and runs `act` once as much of them as may be under way is in the pool. */
async function kill(payments: readonly unknown[], act: () => Promise<void>) {
  let answers: Promise<{ success: boolean; errorReason?: string }>[] = []
  await world.betweenBlocks(async () => {
    answers = payments.map(settle)
    let isOver = false
    void Promise.all(answers).then(() => {
      isOver = true
    })
    // As many in the pool again and again are all that may be there.
    for (let [seen, times] = [0, 0]; !isOver && times < 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 400))
      const count = await pending()
      times = count > 0 && count === seen ? times + 1 : 0
      seen = count
    }
    await act()
  })
  return Promise.all(answers)
}

/** Reads the gas that is booked by account or sum, without the total. */
function booked(): Record<string, bigint> {
  const database = new Sqlite(world.databasePath, { readonly: true })
  try {
    const rows = database.prepare("SELECT payer, amount FROM gas_spending WHERE payer <> ''").all()
    const sums: Record<string, bigint> = {}
    for (const { payer, amount } of rows as { payer: string; amount: string }[]) {
      sums[payer] = (sums[payer] ?? 0n) + BigInt(amount)
    }
    return sums
  } finally {
    database.close()
  }
}

const nameOf = ({ address }: PrivateKeyAccount) => address.toLowerCase()

describe('a plain account that empties itself in front of its payments', () => {
  const BUDGET = DOLLAR / 50n
  /** One payment alone, or what a price that rises adds. */
  const SLACK = DOLLAR / 500n

  beforeAll(async () => {
    world = await startGasWorld({ FAILED_GAS_BUDGET_USD: '0.02' })
  })
  afterAll(() => world.stop())

  it('burns about its budget, whatever it has sent, and is refused then', async () => {
    const [payer, next] = [await aPayer(300n), await aPayer(0n)]
    const payments = await Promise.all(
      Array.from({ length: 300 }, () => aUnit(payer, next.address)),
    )
    let gas = 0n
    for (let round = 0; round < 3; round++) {
      const part = payments.slice(round * 100, round * 100 + 100)
      gas += await world.gasOf(async () => {
        await kill(part, () => sendFirst(payer, 'transfer', [next.address, 300n]))
      })
      await sendFirst(next, 'transfer', [payer.address, 300n])
      await world.gasOf(async () => {})
    }
    expect(gas).toBeGreaterThan(BUDGET / 2n)
    expect(gas).toBeLessThanOrEqual(BUDGET + SLACK)
    expect(booked()).toMatchObject({ [nameOf(payer)]: gas, 'wasted:plain': gas })
    const told = { isValid: false, invalidReason: 'gas_budget_exceeded' }
    if ((booked()[nameOf(payer)] ?? 0n) >= BUDGET) {
      expect(await world.verify(await aUnit(payer, next.address))).toMatchObject(told)
    }
  })

  it('burns about its budget by Permit2 as well', async () => {
    const [payer, to] = [await aPayer(100n), anAccount().address]
    await approvePermit2(world.chainUrl, payer.address, 1_000n)
    const payments = await Promise.all(Array.from({ length: 60 }, () => aPermit2Unit(payer, to)))
    const gas = await world.gasOf(async () => {
      await kill(payments, () => sendFirst(payer, 'transfer', [to, 100n]))
    })
    expect(gas).toBeGreaterThan(BUDGET / 2n)
    expect(gas).toBeLessThanOrEqual(BUDGET + SLACK)
  })
})
