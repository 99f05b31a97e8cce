import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import {
  deployRelayerMulticall,
  devnetContracts,
  mintUsdc,
  readArtifact,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import {
  aPermit2Nonce,
  aPermit2Payer,
  aPermit2Payment,
  approvePermit2,
  charging,
  type Permit2Body,
  permit2Invalidation,
  sendAs,
} from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { outbid } from '../support/a-stranger.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { lies } from '../support/gas-world.js'

const network = 'eip155:5042'
const relayers = devnetRelayers.map(({ address }) => address)

let world: World
let multicall: Hex
beforeAll(async () => {
  world = await startWorld({
    env: { RATE_LIMIT_MAX: '0' },
    async between(chainUrl) {
      multicall = await deployRelayerMulticall(chainUrl, relayers)
      return chainUrl
    },
  })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 15n)
})
afterAll(() => world.stop())

const aPayment = (wish: Parameters<typeof aPermit2Payment>[0] = {}) =>
  aPermit2Payment({ facilitator: multicall, ...wish })
const settle = (body: unknown) => world.post('/settle', body)
const merchantBalance = () => usdcBalance(world.chainUrl, devnetMerchant.address)
const stateOf = async ({ paymentPayload: { payload } }: Permit2Body) => {
  const { from, nonce } = payload.permit2Authorization
  return (await world.get(`/payments/${network}/${from}/${nonce}`)).body
}

it('is what upto names as facilitator', async () => {
  const { body } = await world.get('/supported')
  const upto = body.kinds.find(({ scheme }: { scheme: string }) => scheme === 'upto')
  expect(upto.extra.facilitatorAddress.toLowerCase()).toBe(multicall)
})

it('settles equal payments at once, in few transactions, each for its own transfer', async () => {
  const before = await merchantBalance()
  const payments = await Promise.all(Array.from({ length: 60 }, () => aPayment()))
  const answers = await Promise.all(payments.map((it) => settle(charging(it, 700n))))
  expect(answers.map(({ body }) => [body.success, body.amount])).toEqual(
    answers.map(() => [true, '700']),
  )
  expect(new Set(answers.map(({ body }) => body.transaction)).size).toBeLessThan(45)
  expect((await merchantBalance()) - before).toBe(42_000n)
})

it('shows which of equal payments in one transaction failed', async () => {
  const payer = await aPermit2Payer(world.chainUrl)
  const nonces = [aPermit2Nonce(), aPermit2Nonce(), aPermit2Nonce(), aPermit2Nonce()]
  const payments = await Promise.all(nonces.map((nonce) => aPayment({ ...payer, nonce })))
  await call(world.chainUrl, 'evm_setAutomine', [false])
  // The first goes alone; the others wait for it and share the next transaction.
  const answers = payments.map(settle)
  await expect
    .poll(async () => (await Promise.all(payments.map(stateOf))).map(({ state }) => state), {
      timeout: 5_000,
    })
    .toEqual(payments.map(() => 'submitted'))
  const data = permit2Invalidation(nonces[2] as bigint)
  await outbid(world.chainUrl, payer.from, devnetContracts.permit2, data)
  await call(world.chainUrl, 'evm_setAutomine', [true])
  await call(world.chainUrl, 'evm_mine')
  const told = (await Promise.all(answers)).map(({ body }) => body.success)
  expect(told).toEqual([true, true, false, true])
  expect(await usdcBalance(world.chainUrl, payer.from)).toBe(970_000n)
})

it('settles a payment that waits alone through it', async () => {
  const answer = await settle(await aPayment())
  expect(answer.body).toMatchObject({ success: true })
  const { to } = await call<{ to: Hex }>(world.chainUrl, 'eth_getTransactionByHash', [
    answer.body.transaction,
  ])
  expect(to).toBe(multicall)
})

it('still sends what names a wallet by that wallet', async () => {
  const [, second] = relayers as [Hex, Hex]
  const payments = await Promise.all([
    aPermit2Payment({ facilitator: second }),
    ...Array.from({ length: 4 }, () => aPayment()),
  ])
  const answers = await Promise.all(payments.map(settle))
  expect(answers.map(({ body }) => body.success)).toEqual(answers.map(() => true))
  const { from } = await call<{ from: Hex }>(world.chainUrl, 'eth_getTransactionByHash', [
    answers[0]?.body.transaction,
  ])
  expect(from).toBe(second.toLowerCase())
})

it('refuses the calls of strangers, and the multicall of other wallets', async () => {
  const { abi } = readArtifact('RelayerMulticall')
  const data = encodeFunctionData({ abi, functionName: 'aggregate3', args: [[]] })
  await expect(sendAs(world.chainUrl, anAccount().address, multicall, data)).rejects.toThrow()
  const other = await deployRelayerMulticall(world.chainUrl, relayers.slice(1))
  const { body } = await world.post('/verify', await aPermit2Payment({ facilitator: other }))
  expect(body.invalidReason).toBe('upto_facilitator_mismatch')
})

it('finds on chain what a journal of another settled through it', async () => {
  const payments = await Promise.all(Array.from({ length: 3 }, () => aPayment()))
  const hashes = (await Promise.all(payments.map(settle))).map(({ body }) => body.transaction)
  const other = await startWorld({ chainUrl: world.chainUrl })
  try {
    const answers = await Promise.all(payments.map((it) => other.post('/settle', it)))
    for (const [i, { body }] of answers.entries()) {
      expect(body).toMatchObject({
        success: false,
        errorReason: 'permit2_invalid_nonce',
        transaction: hashes[i],
      })
    }
  } finally {
    await other.stop()
  }
})

it('skips a payment that can only fail, and one whose payer got code meanwhile', async () => {
  const [empty, coded, ...others] = Array.from({ length: 5 }, anAccount) as [
    ReturnType<typeof anAccount>,
    ReturnType<typeof anAccount>,
  ]
  const payers = [...others, empty, coded]
  for (const { address } of payers) await mintUsdc(world.chainUrl, address, 1_000_000n)
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const bodies = await Promise.all(
    payers.map((signer) => aSignedPayment({ from: signer.address, signer, value: 900_000n })),
  )
  const answers = bodies.map(settle)
  const pool = async () => {
    const { pending } = await call<{ pending: Record<string, Record<string, { to: Hex }>> }>(
      world.chainUrl,
      'txpool_content',
    )
    return Object.values(pending).flatMap((ofSender) => Object.values(ofSender))
  }
  await expect.poll(async () => (await pool()).some(({ to }) => to === multicall)).toBe(true)
  const data = encodeFunctionData({
    abi: readArtifact('MockUsdc').abi,
    functionName: 'transfer',
    args: [devnetPayer.address, 900_000n],
  })
  await outbid(world.chainUrl, empty.address, devnetContracts.usdc, data)
  await call(world.chainUrl, 'anvil_setCode', [coded.address, lies(8_000)])
  await call(world.chainUrl, 'evm_mine')
  await call(world.chainUrl, 'evm_setAutomine', [true])
  await call(world.chainUrl, 'evm_mine')
  const told = (await Promise.all(answers)).map(({ body }) => body)
  expect(told.slice(0, 4).map(({ success }) => success)).toEqual([true, true, true, false])
  expect(told[3].errorReason).toBe('invalid_exact_evm_insufficient_balance')
  // What failed took nothing from the others: all of it took less than four payments do.
  const { gasUsed } = await call<{ gasUsed: Hex }>(world.chainUrl, 'eth_getTransactionReceipt', [
    told.find(({ success }) => success).transaction,
  ])
  expect(Number(gasUsed)).toBeLessThan(300_000)
})

// Comes last: what another service sends from the same wallets delays the first one.
it('is used by those relayers alone that it is for', async () => {
  const [first, second, third] = relayers as [Hex, Hex, Hex]
  // The third wallet is new, and the key of the spare one lies in a safe.
  const wallets = [anAccount().address, second, first]
  const env = { RATE_LIMIT_MAX: '0', RELAYER_MULTICALL_WALLETS: wallets.join(',') }
  const facilitator = await deployRelayerMulticall(world.chainUrl, wallets)
  const other = await startWorld({ env, chainUrl: world.chainUrl })
  try {
    const payments = await Promise.all(
      Array.from({ length: 30 }, () => aPermit2Payment({ facilitator })),
    )
    const answers = await Promise.all(payments.map((it) => other.post('/settle', it)))
    expect(answers.map(({ body }) => body.success)).toEqual(answers.map(() => true))
    for (const hash of new Set(answers.map(({ body }) => body.transaction))) {
      const { from } = await call<{ from: Hex }>(world.chainUrl, 'eth_getTransactionByHash', [hash])
      expect(from).not.toBe(third.toLowerCase())
    }
  } finally {
    await other.stop()
  }
  const strangers = { RELAYER_MULTICALL_WALLETS: anAccount().address }
  await expect(startWorld({ env: strangers, chainUrl: world.chainUrl })).rejects.toThrow(
    'RELAYER_MULTICALL_WALLETS names none of the relayer wallets.',
  )
})
