import { reasons } from '@arcus/protocol/x402/reasons'
import {
  encodeFunctionData,
  type Hex,
  pad,
  parseSignature,
  serializeCompactSignature,
  signatureToCompactSignature,
  toHex,
} from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { devnetContracts, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { permit2Gas } from '../../src/facilitator/methods/permit2-job.js'
import {
  aPermit2Nonce,
  aPermit2Payer,
  aPermit2Payment,
  approvePermit2,
  charging,
  exactPermit2Call,
  type Permit2Body,
  type Permit2Wish,
  permit2Invalidation,
  sendAs,
} from '../support/a-permit2-payment.js'
import { nowSeconds } from '../support/a-signed-payment.js'
import { outbid } from '../support/a-stranger.js'
import { anAccount } from '../support/an-account.js'
import { type Answer, startWorld, type World } from '../support/arcus.js'

const { permit2, exactPermit2Proxy, uptoPermit2Proxy, usdc } = devnetContracts
const network = 'eip155:5042'
const relayers = devnetRelayers.map(({ address }) => address)
const invalidNonce = reasons.permit2InvalidNonce.code

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 15n)
})
afterAll(() => world.stop())

const aPayer = (held?: bigint, allowed?: bigint) => aPermit2Payer(world.chainUrl, held, allowed)
const balanceOf = (address: Hex) => usdcBalance(world.chainUrl, address)
const merchantBalance = () => balanceOf(devnetMerchant.address)
const verify = (body: unknown) => world.post('/verify', body)
const settle = (body: unknown) => world.post('/settle', body)
const successes = (answers: Answer[]) => answers.filter(({ body }) => body.success)
const lookUp = ({ paymentPayload }: Permit2Body, nonce?: string) => {
  const { permit2Authorization } = paymentPayload.payload
  const { from } = permit2Authorization
  return world.get(`/payments/${network}/${from}/${nonce ?? permit2Authorization.nonce}`)
}

describe('what is offered', () => {
  it('names upto with a wallet of the facilitator, which takes turns, and both methods of exact', async () => {
    const wallets = new Set<string>()
    for (let i = 0; i < relayers.length; i++) {
      const { body } = await world.get('/supported')
      const kinds: { scheme: string; extra?: Record<string, unknown> }[] = body.kinds
      const upto = kinds.find(({ scheme }) => scheme === 'upto')
      wallets.add(String(upto?.extra?.facilitatorAddress).toLowerCase())
      const exact = kinds.find(({ scheme }) => scheme === 'exact')
      expect(exact?.extra).toMatchObject({ assetTransferMethods: ['eip3009', 'permit2'] })
    }
    expect([...wallets].sort()).toEqual(relayers.map((it) => it.toLowerCase()).sort())
  })
})

describe.each(['upto', 'exact'] as const)('a payment of scheme %s by Permit2', (scheme) => {
  it('is verified, settles once, and is looked up by any spelling of its nonce', async () => {
    const before = await merchantBalance()
    const payment = await aPermit2Payment({ scheme })
    const valid = await verify(payment)
    expect(valid).toMatchObject({
      status: 200,
      body: { isValid: true, payer: devnetPayer.address },
    })
    const answers = await Promise.all(Array.from({ length: 8 }, () => settle(payment)))
    expect(successes(answers)).toHaveLength(1)
    const { body } = successes(answers)[0] as Answer
    expect(body.amount).toBe(scheme === 'upto' ? '10000' : undefined)
    for (const { body: other } of answers.filter((it) => !it.body.success)) {
      expect(other).toMatchObject({ errorReason: invalidNonce, transaction: body.transaction })
    }
    expect((await merchantBalance()) - before).toBe(10_000n)
    const nonce = BigInt(payment.paymentPayload.payload.permit2Authorization.nonce)
    const canonical = `0x${nonce.toString(16).padStart(64, '0')}`
    for (const written of [undefined, canonical]) {
      expect((await lookUp(payment, written)).body).toMatchObject({
        state: 'confirmed',
        transaction: body.transaction,
        amount: '10000',
        nonce: canonical,
        delivered: true,
      })
    }
    expect((await verify(payment)).body).toMatchObject({ invalidReason: invalidNonce })
  })

  it('is one payment however its nonce is written', async () => {
    const nonce = aPermit2Nonce() >> 200n
    const payment = await aPermit2Payment({ scheme, nonce })
    const hex = await aPermit2Payment({
      scheme,
      nonce,
      deadline: BigInt(payment.paymentPayload.payload.permit2Authorization.deadline),
      writtenNonce: `0x0${nonce.toString(16)}`,
    })
    const before = await merchantBalance()
    const answers = await Promise.all([settle(payment), settle(hex), settle(payment)])
    expect(successes(answers)).toHaveLength(1)
    expect((await merchantBalance()) - before).toBe(10_000n)
  })

  it('settles with nonces that share a word of the bitmap, each once', async () => {
    const word = (aPermit2Nonce() >> 8n) << 8n
    const before = await merchantBalance()
    const nonces = Array.from({ length: 12 }, (_, i) => word + BigInt(i * 20))
    const payments = await Promise.all(nonces.map((nonce) => aPermit2Payment({ scheme, nonce })))
    const answers = await Promise.all(payments.map(settle))
    expect(answers.map(({ body }) => body.errorMessage ?? body.success)).toEqual(
      answers.map(() => true),
    )
    expect((await merchantBalance()) - before).toBe(120_000n)
  })

  it('settles with the compact signature of EIP-2098', async () => {
    const payment = await aPermit2Payment({
      scheme,
      resign: (signature) =>
        serializeCompactSignature(signatureToCompactSignature(parseSignature(signature))),
    })
    expect((await settle(payment)).body).toMatchObject({ success: true })
  })

  it('may come from a wallet with code, which is asked whether it signed', async () => {
    const { deployedBytecode } = readArtifact('Wallet1271')
    // By EIP-7702 an account has code and its own key; a wallet of ERC-1271 has the key of its owner.
    const account = await aPayer()
    const wallet = { ...(await aPayer()), signer: account.signer }
    const owner = [wallet.from, toHex(0, { size: 32 }), pad(account.from)]
    await call(world.chainUrl, 'anvil_setStorageAt', owner)
    const before = await merchantBalance()
    for (const payer of [account, wallet]) {
      await call(world.chainUrl, 'anvil_setCode', [payer.from, deployedBytecode])
      const forged = await aPermit2Payment({ scheme, ...payer, signer: anAccount() })
      expect((await verify(forged)).body.invalidReason).toBe('invalid_permit2_signature')
      const payment = await aPermit2Payment({ scheme, ...payer })
      expect((await verify(payment)).body.isValid).toBe(true)
      expect((await settle(payment)).body).toMatchObject({ success: true })
    }
    expect((await merchantBalance()) - before).toBe(20_000n)
  })

  it('is refused when the payer cancelled its nonce', async () => {
    const payer = await aPayer()
    const nonce = aPermit2Nonce()
    const payment = await aPermit2Payment({ scheme, ...payer, nonce })
    const cancel = await sendAs(world.chainUrl, payer.from, permit2, permit2Invalidation(nonce))
    expect((await verify(payment)).body).toMatchObject({ invalidReason: invalidNonce })
    expect((await settle(payment)).body).toMatchObject({
      errorReason: invalidNonce,
      transaction: cancel,
    })
  })

  it('fails, and blocks no other, when the approval vanishes after the signature', async () => {
    const payer = await aPayer()
    const payment = await aPermit2Payment({ scheme, ...payer })
    expect((await verify(payment)).body.isValid).toBe(true)
    await approvePermit2(world.chainUrl, payer.from, 0n)
    const other = aPermit2Payment({ scheme }).then(settle)
    expect((await settle(payment)).body).toMatchObject({
      success: false,
      errorReason: 'permit2_allowance_required',
      transaction: '',
    })
    expect((await other).body).toMatchObject({ success: true })
    await approvePermit2(world.chainUrl, payer.from, 10_000n)
    expect((await settle(payment)).body).toMatchObject({ success: true })
  })
})

describe('upto', () => {
  it('moves what settle asks for, and says how much that is', async () => {
    const before = await merchantBalance()
    const payment = await aPermit2Payment({ permitted: 10_000n })
    const { body } = await settle(charging(payment, 3_456n))
    expect(body).toMatchObject({ success: true, amount: '3456', network })
    expect((await merchantBalance()) - before).toBe(3_456n)
    expect((await lookUp(payment)).body).toMatchObject({ amount: '3456', state: 'confirmed' })
  })

  it('never answers one charge with the success of another', async () => {
    const before = await merchantBalance()
    const payment = await aPermit2Payment({ permitted: 10_000n })
    const amounts = [1_000n, 2_000n, 1_000n, 2_000n, 3_000n]
    const answers = await Promise.all(amounts.map((amount) => settle(charging(payment, amount))))
    expect(successes(answers)).toHaveLength(1)
    const moved = (await merchantBalance()) - before
    expect(successes(answers)[0]?.body.amount).toBe(moved.toString())
    const late = await settle(charging(payment, moved + 1n))
    expect(late.body).toMatchObject({ success: false, errorReason: invalidNonce })
    expect(late.body.errorMessage).toContain(`settled here for ${moved}`)
  })

  it('answers a charge of nothing with success and sends nothing', async () => {
    const payer = await aPayer(1_000_000n, 0n)
    const payment = await aPermit2Payment(payer)
    expect((await settle(charging(payment, 0n))).body).toEqual({
      success: true,
      transaction: '',
      network,
      payer: payer.from,
      amount: '0',
    })
    expect((await lookUp(payment)).status).toBe(404)
    const forged = await aPermit2Payment({ from: payer.from })
    expect((await settle(charging(forged, 0n))).body).toMatchObject({
      success: false,
      errorReason: 'invalid_permit2_signature',
    })
  })

  it('is sent by the wallet that the payer names, whichever of ours it is', async () => {
    for (const facilitator of relayers) {
      const { body } = await settle(await aPermit2Payment({ facilitator }))
      expect(body).toMatchObject({ success: true })
      const sent = await call<{ from: string }>(world.chainUrl, 'eth_getTransactionByHash', [
        body.transaction,
      ])
      expect(sent.from).toBe(facilitator.toLowerCase())
    }
  })
})

describe('exact by Permit2 that somebody else settles', () => {
  it('counts as used if it landed before the claim', async () => {
    const payment = await aPermit2Payment({ scheme: 'exact' })
    const stranger = anAccount().address
    const hash = await sendAs(
      world.chainUrl,
      stranger,
      exactPermit2Proxy,
      exactPermit2Call(payment),
    )
    expect((await settle(payment)).body).toMatchObject({
      success: false,
      errorReason: invalidNonce,
      transaction: hash,
    })
  })

  it('counts as paid if it landed after the claim, and each of two equal payments for itself', async () => {
    const payer = await aPayer()
    const [first, second] = await Promise.all([
      aPermit2Payment({ scheme: 'exact', ...payer }),
      aPermit2Payment({ scheme: 'exact', ...payer }),
    ])
    await call(world.chainUrl, 'evm_setAutomine', [false])
    const answers = Promise.all([settle(first), settle(second)])
    await expect
      .poll(async () => (await lookUp(second)).body.state, { timeout: 5_000 })
      .toBe('submitted')
    await expect
      .poll(async () => (await lookUp(first)).body.state, { timeout: 5_000 })
      .toBe('submitted')
    // The stranger pays more for the gas, so theirs is mined first.
    const stranger = anAccount().address
    const data = exactPermit2Call(second)
    const hash = await outbid(world.chainUrl, stranger, exactPermit2Proxy, data)
    await call(world.chainUrl, 'evm_setAutomine', [true])
    await call(world.chainUrl, 'evm_mine')
    const [one, two] = await answers
    expect([one?.body.success, two?.body.success]).toEqual([true, true])
    expect(two?.body.transaction).toBe(hash)
    expect(one?.body.transaction).not.toBe(hash)
    expect(await balanceOf(payer.from)).toBe(980_000n)
  })
})

/** The extension with which a payer lets Permit2 take so much without a transaction of their own. */
async function aPermit(
  signer: ReturnType<typeof anAccount>,
  amount: bigint,
  changes: Record<string, unknown> = {},
) {
  const deadline = nowSeconds() + 300n
  const signature = await signer.signTypedData({
    domain: { name: 'USDC', version: '2', chainId: 5042, verifyingContract: usdc },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primaryType: 'Permit',
    message: { owner: signer.address, spender: permit2, value: amount, nonce: 0n, deadline },
  })
  const info = {
    from: signer.address,
    asset: usdc,
    spender: permit2,
    amount: amount.toString(),
    nonce: '0',
    deadline: deadline.toString(),
    signature,
    version: '1',
    ...changes,
  }
  return { extensions: { eip2612GasSponsoring: { info } }, info }
}

describe.each(['upto', 'exact'] as const)('a permit of the token beside %s', (scheme) => {
  it('lets a payer pay who has neither gas nor an approval', async () => {
    const payer = await aPayer(50_000n, 0n)
    const { extensions } = await aPermit(payer.signer, 10_000n)
    const payment = await aPermit2Payment({ scheme, ...payer, extensions })
    expect((await verify(payment)).body).toMatchObject({ isValid: true })
    expect((await settle(payment)).body).toMatchObject({ success: true })
    expect(await balanceOf(payer.from)).toBe(40_000n)
    expect((await world.get('/supported')).body.extensions).toContain('eip2612GasSponsoring')
  })

  it('may be sent first by anybody', async () => {
    const payer = await aPayer(50_000n, 0n)
    const { extensions, info } = await aPermit(payer.signer, 10_000n)
    const payment = await aPermit2Payment({ scheme, ...payer, extensions })
    const { abi } = readArtifact('MockUsdc')
    const { r, s, v } = parseSignature(info.signature)
    const args = [payer.from, permit2, 10_000n, BigInt(info.deadline), Number(v), r, s]
    const data = encodeFunctionData({ abi, functionName: 'permit', args })
    await sendAs(world.chainUrl, anAccount().address, usdc, data)
    expect((await settle(payment)).body).toMatchObject({ success: true })
    expect(await balanceOf(payer.from)).toBe(40_000n)
  })
})

const stranger = anAccount()

const permits: [string, Record<string, unknown>][] = [
  ['invalid_eip2612_extension_format', { deadline: 'soon' }],
  ['eip2612_from_mismatch', { from: stranger.address }],
  ['eip2612_asset_mismatch', { asset: stranger.address }],
  ['eip2612_spender_not_permit2', { spender: uptoPermit2Proxy }],
  ['eip2612_deadline_expired', { deadline: '99' }],
  ['permit2_2612_amount_mismatch', { amount: '9999' }],
  ['permit2_allowance_required', { signature: `0x${'11'.repeat(64)}1b` }],
]

it.each(permits)('a permit is refused with the code %s', async (code, changes) => {
  const payer = await aPayer(50_000n, 0n)
  const { extensions } = await aPermit(payer.signer, 10_000n, changes)
  const { body } = await verify(await aPermit2Payment({ ...payer, extensions }))
  expect(body.invalidReason).toBe(code)
})

const quoting = (name: string, version: string): Permit2Wish => ({
  requirement: { extra: { name, version } },
})
const crafted: [string, string, Permit2Wish][] = [
  ['accepted scheme', 'invalid_upto_evm_scheme', { accepted: { scheme: 'exact' } }],
  [
    'scheme of exact',
    'unsupported_payload_type',
    { scheme: 'exact', accepted: { scheme: 'upto' } },
  ],
  ['network', 'invalid_upto_evm_network_mismatch', { accepted: { network: 'eip155:1' } }],
  [
    'network of exact',
    'invalid_exact_evm_network_mismatch',
    { scheme: 'exact', accepted: { network: 'eip155:1' } },
  ],
  ['asset', 'unsupported_asset', { requirement: { asset: stranger.address } }],
  ['name of the token', 'invalid_exact_evm_token_name_mismatch', quoting('USD Coin', '2')],
  [
    'version of the token',
    'invalid_exact_evm_token_version_mismatch',
    { scheme: 'exact', ...quoting('USDC', '1') },
  ],
  ['spender', 'invalid_permit2_spender', { spender: exactPermit2Proxy }],
  ['spender of exact', 'invalid_permit2_spender', { scheme: 'exact', spender: uptoPermit2Proxy }],
  ['recipient', 'invalid_permit2_recipient_mismatch', { requirement: { payTo: stranger.address } }],
  ['wallet', 'upto_facilitator_mismatch', { facilitator: stranger.address }],
  ['deadline', 'permit2_deadline_expired', { deadline: nowSeconds() + 3n }],
  ['start', 'permit2_not_yet_valid', { validAfter: nowSeconds() + 100n }],
  ['amount', 'permit2_amount_mismatch', { requirement: { amount: '9999' } }],
  ['token', 'permit2_token_mismatch', { token: stranger.address }],
  ['minimum', 'amount_below_minimum', { permitted: 0n }],
  ['recipient that is a contract of x402', 'invalid_pay_to', { to: permit2 }],
  ['payer that is a relayer', 'payer_not_allowed', { from: relayers[1] as Hex }],
  ['signer', 'invalid_permit2_signature', { signer: stranger }],
  ['chain', 'invalid_permit2_signature', { chainId: 1 }],
  [
    'length of the signature',
    'invalid_permit2_signature',
    { resign: (it) => it.slice(0, -4) as Hex },
  ],
  [
    'v of the signature',
    'invalid_permit2_signature',
    { resign: (it) => `${it.slice(0, -2)}00` as Hex },
  ],
]

describe('a payment by Permit2 that is refused', () => {
  it.each(crafted)('for its %s has the code %s', async (_, code, wish) => {
    const { status, body } = await verify(await aPermit2Payment(wish))
    expect({ status, code: body.invalidReason }).toEqual({ status: 200, code })
    expect(body.invalidMessage).toMatch(/^\S.+\.$/)
  })

  it('for a wrong name of the token is answered with the right one, and needs to quote none', async () => {
    const { body } = await verify(await aPermit2Payment(quoting('USD Coin', '2')))
    expect(body.invalidMessage).toMatch(/"USD Coin";.* has name "USDC" and version "2"/)
    for (const extra of [undefined, null, {}, { name: '', version: null }]) {
      const plain = await aPermit2Payment({ requirement: { extra } })
      expect((await verify(plain)).body.isValid).toBe(true)
    }
  })

  it('for a balance that does not cover it', async () => {
    const payer = await aPayer(9_999n, 20_000n)
    const { body } = await verify(await aPermit2Payment(payer))
    expect(body.invalidReason).toBe('permit2_insufficient_balance')
  })

  it('for an approval that does not cover it', async () => {
    const payer = await aPayer(20_000n, 9_999n)
    const { status, body } = await verify(await aPermit2Payment(payer))
    expect(status).toBe(200)
    expect(body.invalidReason).toBe('permit2_allowance_required')
  })

  it('for a charge above what is permitted', async () => {
    const payment = await aPermit2Payment({ permitted: 10_000n })
    const { body } = await settle(charging(payment, 10_001n))
    expect(body.errorReason).toBe('invalid_upto_evm_payload_settlement_exceeds_amount')
  })

  it('for a payload of upto without a witness that names a wallet', async () => {
    const payment = await aPermit2Payment({ scheme: 'exact' })
    const body = {
      ...payment,
      paymentRequirements: { ...payment.paymentRequirements, scheme: 'upto' },
    }
    expect(await verify(body)).toMatchObject({
      status: 400,
      body: { invalidReason: 'invalid_payload' },
    })
  })
})

beforeEach(async () => {
  await call(world.chainUrl, 'evm_setAutomine', [true])
})

describe('the gas that is counted for a payment', () => {
  const gasOf = async ({ body }: Answer) => {
    expect(body).toMatchObject({ success: true })
    const params = [body.transaction]
    const { gasUsed } = await call<{ gasUsed: Hex }>(
      world.chainUrl,
      'eth_getTransactionReceipt',
      params,
    )
    return Number(gasUsed)
  }
  /** The margin over what the local chain takes, for another token than our mock. */
  const expectMargin = (counted: bigint, measured: number) => {
    expect(Number(counted) / measured).toBeGreaterThan(1.25)
    expect(Number(counted) / measured).toBeLessThan(1.5)
  }

  it.each(['upto', 'exact'] as const)('by %s is a third above a first payment', async (scheme) => {
    const payer = await aPayer()
    const payment = await aPermit2Payment({ scheme, ...payer, to: anAccount().address })
    expectMargin(permit2Gas(false), await gasOf(await settle(payment)))
  })

  it('with a permit is a third above one of a payer who never approved', async () => {
    const payer = await aPayer(1_000_000n, 0n)
    const { extensions } = await aPermit(payer.signer, 10_000n)
    const payment = await aPermit2Payment({ ...payer, to: anAccount().address, extensions })
    expectMargin(permit2Gas(true), await gasOf(await settle(payment)))
  })
})
