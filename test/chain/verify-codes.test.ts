import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import { type Address, concatHex, encodeAbiParameters, encodeDeployData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment, nowSeconds, type PaymentWish } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { sendToToken } from '../support/token.js'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  for (const answer of world.said) {
    expect(answer).not.toContain(new URL(world.chainUrl).port)
    expect(answer).not.toMatch(/src\/|node_modules| at .*:\d+:\d+/)
  }
  await world.stop()
})

const secp256k1Order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other valid signature of the same digest: what the token refuses as malleable. */
function withHighS(signature: Hex): Hex {
  const s = secp256k1Order - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `0x${signature.slice(2, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

const withV = (v: string) => (signature: Hex) => `${signature.slice(0, -2)}${v}` as Hex
const wrapErc6492 = (signature: Hex) =>
  concatHex([
    encodeAbiParameters(
      [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
      [devnetContracts.multicall, '0x1234', signature],
    ),
    `0x${'6492'.repeat(16)}`,
  ])

/** Rejections that need no preparation on the chain: title, wish, code, and words the message must have. */
const rejections: [string, PaymentWish | (() => PaymentWish), ReasonKey, RegExp][] = [
  ['another scheme', { requirement: { scheme: 'later' } }, 'unsupportedScheme', /later.*exact/],
  [
    'batch-settlement with zero amounts',
    { requirement: { scheme: 'batch-settlement', amount: '0', maxTimeoutSeconds: 0 } },
    'batchPayloadType',
    /deposit.*claim.*refund/,
  ],
  ['an unknown network', { requirement: { network: 'eip155:1' } }, 'invalidNetwork', /eip155:5042/],
  [
    'another asset',
    { requirement: { asset: devnetMerchant.address } },
    'unsupportedAsset',
    /expected 0x3600/,
  ],
  [
    'a payment through Circle Gateway',
    {
      requirement: {
        extra: {
          name: 'GatewayWalletBatched',
          version: '1',
          verifyingContract: '0x77777777DCC4d5a8b6e418fd04d8997ef11000eE',
        },
      },
    },
    'unsupportedRail',
    /paid through Circle Gateway, not settled here/,
  ],
  ['no extra', { requirement: { extra: undefined } }, 'missingEip712Domain', /extra\.name/],
  [
    'another recipient',
    { requirement: { payTo: devnetRelayers[2]?.address } },
    'recipientMismatch',
    /pays 0x/,
  ],
  [
    'five seconds left',
    () => ({ validBefore: nowSeconds() + 5n }),
    'validBefore',
    /6 more seconds/,
  ],
  [
    'one that begins later',
    () => ({ validAfter: nowSeconds() + 60n }),
    'validAfter',
    /valid after/,
  ],
  ['a lower value', { requirement: { amount: '10001' } }, 'valueMismatch', /10000.*10001/],
  ['nothing to pay', { value: 0n }, 'amountBelowMinimum', /minimum of 1/],
  [
    'a payment to the settlement contract of channels',
    { to: devnetContracts.batchSettlement },
    'invalidPayTo',
    /contract of x402/,
  ],
  [
    'a relayer as payer',
    { from: devnetRelayers[0]?.address as Address, signer: devnetRelayers[0]?.account as never },
    'payerNotAllowed',
    /relayer/,
  ],
  ['a wallet that is not deployed', { resign: wrapErc6492 }, 'factoryNotAllowed', /6492/],
  ['a signature by somebody else', { signer: devnetMerchant.account }, 'signature', /recover/],
  [
    'a signature over another domain',
    { domain: { name: 'USD Coin' } },
    'signature',
    /domain.*"USDC".*"2"/,
  ],
  ['a malleable signature', { resign: withHighS }, 'signature', /recover/],
  ['v of 0', { resign: withV('00') }, 'signature', /recover/],
  ['an empty signature', { resign: () => '0x' }, 'signature', /recover/],
  ['more than the balance', { value: 10n ** 15n }, 'insufficientBalance', /holds .* needs/],
]

describe('verify and settle refuse with the same code', () => {
  it.each(rejections)('%s', async (_title, wish, reason, words) => {
    const payment = await aSignedPayment(typeof wish === 'function' ? wish() : wish)
    const payer = payment.paymentPayload.payload.authorization.from
    const verified = await world.post('/verify', payment)
    expect(verified.status).toBe(200)
    expect(verified.body).toMatchObject({
      isValid: false,
      invalidReason: reasons[reason].code,
      invalidMessage: expect.stringMatching(words),
      payer,
    })
    // The margin of settle is smaller, so that work already done is not refused lightly.
    if (words.source === '6 more seconds') return
    const settled = await world.post('/settle', payment)
    expect(settled.status).toBe(200)
    expect(settled.body).toMatchObject({
      success: false,
      errorReason: reasons[reason].code,
      errorMessage: expect.stringMatching(words),
      transaction: '',
      network: payment.paymentRequirements.network,
      payer,
    })
  })
})

describe('the chain is asked about', () => {
  it('a used nonce, and a cancelled one', async () => {
    const used = await aSignedPayment()
    const transaction = await sendToToken(world.chainUrl, used)
    const verified = await world.post('/verify', used)
    expect(verified.body.invalidReason).toBe(reasons.nonceAlreadyUsed.code)
    const settled = await world.post('/settle', used)
    expect(settled.body).toMatchObject({ errorReason: reasons.nonceAlreadyUsed.code, transaction })
    expect(settled.body.errorMessage).toContain('/payments/eip155:5042/')
  })

  it.each([
    ['payer', devnetPayer.address, 'payerBlocklisted'],
    ['recipient', devnetMerchant.address, 'payToBlocklisted'],
  ] as const)('a blocked %s', async (_who, address, reason) => {
    await sendToToken(world.chainUrl, 'blacklist', [address])
    const { body } = await world.post('/verify', await aSignedPayment())
    await sendToToken(world.chainUrl, 'unBlacklist', [address])
    expect(body.invalidReason).toBe(reasons[reason].code)
  })

  it('a paused token', async () => {
    await sendToToken(world.chainUrl, 'pause', [])
    const { body } = await world.post('/verify', await aSignedPayment())
    await sendToToken(world.chainUrl, 'unpause', [])
    expect(body.invalidReason).toBe(reasons.assetPaused.code)
  })
})

describe('only the code of a payer with code decides about its signature', () => {
  async function deploy(name: string, args: unknown[] = []): Promise<Address> {
    const { abi, bytecode } = readArtifact(name)
    const data = encodeDeployData({ abi, bytecode, args })
    const from = devnetRelayers[1]?.address
    const hash = await call(world.chainUrl, 'eth_sendTransaction', [{ from, data }])
    const address = await vi.waitFor(
      async () => {
        const receipt = await call<{ contractAddress: Address } | null>(
          world.chainUrl,
          'eth_getTransactionReceipt',
          [hash],
        )
        if (receipt === null) throw new Error('not mined yet')
        return receipt.contractAddress
      },
      { timeout: 15_000 },
    )
    await mintUsdc(world.chainUrl, address, 1_000_000n)
    return address
  }

  it('accepts what its wallet accepts (ERC-1271)', async () => {
    const from = await deploy('Wallet1271', [devnetPayer.address])
    const payment = await aSignedPayment({ from })
    expect((await world.post('/verify', payment)).body).toMatchObject({ isValid: true })
    expect((await world.post('/settle', payment)).body).toMatchObject({ success: true })
  })

  it.each(['RejectingWallet', 'RevertingWallet', 'GasBurningWallet'])(
    'refuses what a %s does not accept, and stays quick',
    async (name) => {
      const payment = await aSignedPayment({ from: await deploy(name) })
      const { body } = await world.post('/verify', payment)
      expect(body.invalidReason).toBe(reasons.signature.code)
      expect((await world.post('/settle', payment)).body.errorReason).toBe(reasons.signature.code)
    },
  )
})

describe('a malformed body is a 400 in shape', () => {
  const whole = () => aSignedPayment()
  const bodies: [string, () => Promise<unknown>, ReasonKey][] = [
    ['nothing', async () => '', 'invalidPayload'],
    ['broken JSON', async () => '{', 'invalidPayload'],
    ['version 1', async () => ({ ...(await whole()), x402Version: 1 }), 'invalidX402Version'],
    [
      'no requirements',
      async () => ({ ...(await whole()), paymentRequirements: undefined }),
      'invalidPaymentRequirements',
    ],
    [
      'a value in hex',
      () => aSignedPayment({ authorization: { value: '0x10' } }),
      'invalidPayload',
    ],
    [
      'a hex amount',
      () => aSignedPayment({ requirement: { amount: '0x1' } }),
      'invalidPaymentRequirements',
    ],
  ]
  it.each(bodies)('%s', async (_title, make, reason) => {
    const body = await make()
    const verified = await world.post('/verify', body)
    expect(verified.status).toBe(400)
    expect(verified.body).toMatchObject({ isValid: false, invalidReason: reasons[reason].code })
    expect(verified.body.invalidMessage).toMatch(/\S+ .*\.$/)
    const settled = await world.post('/settle', body)
    expect(settled.status).toBe(400)
    expect(settled.body).toMatchObject({
      success: false,
      errorReason: reasons[reason].code,
      transaction: '',
    })
    expect(typeof settled.body.network).toBe('string')
  })
})
