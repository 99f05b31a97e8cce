import { channelContracts, permit2Contracts, zeroAddress } from '@arcus/protocol/x402/address'
import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { isRejection } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'
import type { PaymentFacts } from '../../../../src/chain/payment-facts.js'
import {
  checkFacts,
  checkTerms,
  findTerms,
  SETTLE_MARGIN_SECONDS,
  VERIFY_MARGIN_SECONDS,
} from '../../../../src/facilitator/methods/checks.js'
import type { NetworkTerms } from '../../../../src/facilitator/methods/network.js'
import { aTerms, aToken } from '../../../support/simulated/a-facilitator.js'
import {
  aPayment,
  asset,
  network,
  nonce,
  nowSeconds,
  payer,
  payTo,
} from '../../protocol/x402/a-payment.js'

const clock = { nowSeconds, marginSeconds: VERIFY_MARGIN_SECONDS }

function climb(payment: ParsedPayment, terms: Partial<NetworkTerms> = {}, at = clock) {
  return checkTerms(payment, aTerms(terms), at)
}

function withMinimum(minAmount: bigint): Partial<NetworkTerms> {
  return { tokens: new Map([[asset, aToken({ minAmount })]]) }
}

function withAuthorization(changes: Partial<ParsedPayment['authorization']>): ParsedPayment {
  const { authorization } = aPayment()
  return aPayment({ authorization: { ...authorization, ...changes } })
}

describe('the network whose terms apply to a payment', () => {
  const served = new Map([[network, aTerms()]])

  it('is the one its requirement names', () => {
    expect(findTerms(aPayment(), served)).toBe(served.get(network))
  })

  it.each([
    [
      { acceptedScheme: 'upto', network: 'eip155:1' },
      'schemeMismatch',
      'The payer accepted scheme "upto", expected "exact".',
    ],
    [
      { network: 'eip155:5042002' },
      'invalidNetwork',
      'Network eip155:5042002 is known but not served here; served: eip155:5042.',
    ],
    [
      { network: 'eip155:1' },
      'invalidNetwork',
      'Network "eip155:1" is not supported; served: eip155:5042.',
    ],
    [
      { network: 'toString' },
      'invalidNetwork',
      'Network "toString" is not supported; served: eip155:5042.',
    ],
  ])('is none for %j', (changes, reason, message) => {
    const found = findTerms(aPayment(changes), served)
    expect(isRejection(found) && found).toEqual({ reason, message })
  })
})

describe('the checks without the chain', () => {
  it('let a sound payment pass', () => {
    expect(climb(aPayment())).toBeUndefined()
  })

  it.each<[string, Partial<ParsedPayment>, string, string]>([
    [
      'another accepted network',
      { acceptedNetwork: 'eip155:1' },
      'networkMismatch',
      `The payer accepted network "eip155:1", the requirement names ${network}.`,
    ],
    [
      'another asset',
      { asset: payTo },
      'unsupportedAsset',
      `Asset ${payTo} is not settled on ${network}; expected ${asset} (USDC).`,
    ],
    [
      'another rail',
      { otherRail: 'Circle Gateway', quotedDomain: { name: 'GatewayWalletBatched' } },
      'unsupportedRail',
      `The requirement is paid through Circle Gateway, not settled here: extra.verifyingContract must be absent or the asset ${asset}.`,
    ],
    [
      'no name of the token',
      { quotedDomain: { version: '2' } },
      'missingEip712Domain',
      `extra.name is missing; the EIP-712 domain of asset ${asset} has name "USDC" and version "2".`,
    ],
    [
      'an empty name',
      { quotedDomain: { name: '', version: '2' } },
      'missingEip712Domain',
      `extra.name is missing; the EIP-712 domain of asset ${asset} has name "USDC" and version "2".`,
    ],
    [
      'no version of the token',
      { quotedDomain: { name: 'USDC' } },
      'missingEip712Domain',
      `extra.version is missing; the EIP-712 domain of asset ${asset} has name "USDC" and version "2".`,
    ],
    [
      'another name',
      { quotedDomain: { name: 'USD Coin', version: '2' } },
      'tokenNameMismatch',
      `extra.name is "USD Coin"; the EIP-712 domain of asset ${asset} has name "USDC" and version "2".`,
    ],
    [
      'another version',
      { quotedDomain: { name: 'USDC', version: '1' } },
      'tokenVersionMismatch',
      `extra.version is "1"; the EIP-712 domain of asset ${asset} has name "USDC" and version "2".`,
    ],
  ])('refuse %s', (_, changes, reason, message) => {
    expect(climb(aPayment(changes))).toEqual({ reason, message })
  })

  it('refuse an authorization to somebody else than payTo', () => {
    const rejection = climb(withAuthorization({ to: asset }))
    expect(rejection?.reason).toBe('recipientMismatch')
    expect(rejection?.message).toContain(asset)
    expect(rejection?.message).toContain(payTo)
  })

  it('require the margin before validBefore: six seconds left pass, five do not', () => {
    const ending = (left: number) => withAuthorization({ validBefore: BigInt(nowSeconds + left) })
    expect(climb(ending(7))).toBeUndefined()
    expect(climb(ending(6))).toBeUndefined()
    expect(climb(ending(5))?.reason).toBe('validBefore')
    const atSettle = { nowSeconds, marginSeconds: SETTLE_MARGIN_SECONDS }
    expect(climb(ending(2), {}, atSettle)).toBeUndefined()
    expect(climb(ending(1), {}, atSettle)?.reason).toBe('validBefore')
    expect(climb(withAuthorization({ validBefore: 0n }))?.reason).toBe('validBefore')
    expect(climb(withAuthorization({ validBefore: 2n ** 256n - 1n }))).toBeUndefined()
  })

  it('accept an authorization from the second of validAfter on', () => {
    const starting = (at: number) => withAuthorization({ validAfter: BigInt(at) })
    expect(climb(starting(nowSeconds - 1))).toBeUndefined()
    expect(climb(starting(nowSeconds))).toBeUndefined()
    expect(climb(starting(nowSeconds + 1))?.reason).toBe('validAfter')
    expect(climb(withAuthorization({ validAfter: 2n ** 256n - 1n }))?.reason).toBe('validAfter')
  })

  it('accept exactly the required amount', () => {
    for (const value of [9_999n, 10_001n]) {
      expect(climb(withAuthorization({ value }))).toEqual({
        reason: 'valueMismatch',
        message: `The authorization value ${value} does not match the required amount 10000.`,
      })
    }
  })

  it('refuse less than the minimum, and zero whatever the minimum is', () => {
    expect(climb(aPayment(), withMinimum(9_999n))).toBeUndefined()
    expect(climb(aPayment(), withMinimum(10_000n))).toBeUndefined()
    expect(climb(aPayment(), withMinimum(10_001n))).toEqual({
      reason: 'amountBelowMinimum',
      message: 'The amount 10000 is below the minimum of 10001 (0.010001 USDC) settled here.',
    })
    const free = { ...withAuthorization({ value: 0n }), amount: 0n }
    for (const minAmount of [0n, 1n]) {
      expect(climb(free, withMinimum(minAmount))?.reason).toBe('amountBelowMinimum')
    }
    const least = { ...withAuthorization({ value: 1n }), amount: 1n }
    for (const minAmount of [0n, 1n]) expect(climb(least, withMinimum(minAmount))).toBeUndefined()
  })

  it.each([
    ['the zero address', zeroAddress],
    ['the payer', payer],
    ['the token contract', asset],
    ...Object.entries(channelContracts),
    ...Object.entries(permit2Contracts),
  ])('refuse %s as recipient', (_, to) => {
    const rejection = climb({ ...withAuthorization({ to }), payTo: to })
    expect(rejection?.reason).toBe('invalidPayTo')
  })

  it('refuse addresses that the operator blocks, by role, and relayers as payers', () => {
    expect(climb(aPayment(), { isPayToBlocked: (a) => a === payTo })?.reason).toBe(
      'payToNotAllowed',
    )
    expect(climb(aPayment(), { isPayToBlocked: (a) => a === payer })).toBeUndefined()
    expect(climb(aPayment(), { isPayerBlocked: (a) => a === payer })?.reason).toBe(
      'payerNotAllowed',
    )
    expect(climb(aPayment(), { isPayerBlocked: (a) => a === payTo })).toBeUndefined()
    expect(climb(aPayment(), { isRelayer: (a) => a === payer })?.reason).toBe('payerNotAllowed')
    expect(climb(aPayment(), { isRelayer: (a) => a === payTo })).toBeUndefined()
  })

  it('report the first cause in the order of the protocol when several hold', () => {
    const everythingWrong: ParsedPayment = {
      ...aPayment({
        acceptedNetwork: 'eip155:1',
        asset: payTo,
        quotedDomain: {},
        payTo: zeroAddress,
        amount: 0n,
      }),
      authorization: {
        from: payer,
        to: payTo,
        value: 1n,
        validAfter: BigInt(nowSeconds + 9),
        validBefore: 0n,
        nonce,
      },
    }
    const refusing = { isRelayer: () => true, isPayToBlocked: () => true }
    const mends: [string, (payment: ParsedPayment) => ParsedPayment][] = [
      ['networkMismatch', (p) => ({ ...p, acceptedNetwork: network })],
      ['unsupportedAsset', (p) => ({ ...p, asset })],
      ['missingEip712Domain', (p) => ({ ...p, quotedDomain: { name: 'x', version: 'y' } })],
      ['tokenNameMismatch', (p) => ({ ...p, quotedDomain: { name: 'USDC', version: 'y' } })],
      ['tokenVersionMismatch', (p) => ({ ...p, quotedDomain: { name: 'USDC', version: '2' } })],
      ['recipientMismatch', (p) => mend(p, { to: zeroAddress })],
      ['validBefore', (p) => mend(p, { validBefore: BigInt(nowSeconds + 60) })],
      ['validAfter', (p) => mend(p, { validAfter: 0n })],
      ['valueMismatch', (p) => mend(p, { value: 0n })],
      ['amountBelowMinimum', (p) => ({ ...mend(p, { value: 1n }), amount: 1n })],
      ['invalidPayTo', (p) => ({ ...mend(p, { to: payTo }), payTo })],
    ]
    let payment = everythingWrong
    for (const [reason, mendIt] of mends) {
      expect(climb(payment, refusing)?.reason).toBe(reason)
      payment = mendIt(payment)
    }
    expect(climb(payment, refusing)?.reason).toBe('payToNotAllowed')
    expect(climb(payment, { isRelayer: () => true })?.reason).toBe('payerNotAllowed')
    expect(climb(payment)).toBeUndefined()
  })

  function mend(
    payment: ParsedPayment,
    changes: Partial<ParsedPayment['authorization']>,
  ): ParsedPayment {
    return { ...payment, authorization: { ...payment.authorization, ...changes } }
  }
})

describe('the facts of the chain', () => {
  const sound: PaymentFacts = {
    blockNumber: 7,
    blockTimestamp: nowSeconds,
    payerHasCode: false,
    isNonceUsed: false,
    isPayerBlocklisted: false,
    isPayToBlocklisted: false,
    isPaused: false,
    balance: 10_000n,
    allowance: 0n,
  }
  const transfer = { asset, payer, payTo, value: 10_000n, nonce }
  const check = (changes: Partial<PaymentFacts>) => checkFacts(transfer, { ...sound, ...changes })

  it('let a payer pay that holds exactly the value, but not one unit less', () => {
    expect(check({ balance: 10_001n })).toBeUndefined()
    expect(check({})).toBeUndefined()
    expect(check({ balance: 9_999n })).toEqual({
      reason: 'insufficientBalance',
      message: `The payer ${payer} holds 9999 (0.009999) of ${asset}, the payment needs 10000 (0.01).`,
    })
  })

  it('are reported in this order: nonce, payer, recipient, pause, balance', () => {
    const bad = {
      isNonceUsed: true,
      isPayerBlocklisted: true,
      isPayToBlocklisted: true,
      isPaused: true,
      balance: 0n,
    }
    const order = [
      ['isNonceUsed', 'nonceAlreadyUsed'],
      ['isPayerBlocklisted', 'payerBlocklisted'],
      ['isPayToBlocklisted', 'payToBlocklisted'],
      ['isPaused', 'assetPaused'],
    ] as const
    for (const [fact, reason] of order) {
      expect(check(bad)?.reason).toBe(reason)
      bad[fact] = false
    }
    expect(check(bad)?.reason).toBe('insufficientBalance')
  })
})
