import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { TokenPermit } from '@arcus/protocol/x402/payment'
import { describe, expect, it } from 'vitest'
import { checkTokenPermit } from '../../../../src/facilitator/methods/permit2-checks.js'
import { aPayment, asset, nowSeconds, payer, payTo } from '../../protocol/x402/a-payment.js'

/** Returns why the permit of the token is refused. */
function refusalOf(changes: Partial<TokenPermit> | 'malformed' = {}) {
  const deadline = BigInt(nowSeconds + 60)
  const whole: TokenPermit = {
    from: payer,
    asset,
    spender: permit2Contracts.permit2,
    amount: 10_000n,
    nonce: 0n,
    deadline,
    signature: '0x',
  }
  const permit = changes === 'malformed' ? changes : { ...whole, ...changes }
  const permit2 = { token: asset, spender: permit2Contracts.exactProxy, permit }
  return checkTokenPermit(aPayment({ permit2 }), nowSeconds)?.reason
}

describe('a permit of the token', () => {
  it.each<[string, Partial<TokenPermit> | 'malformed', string | undefined]>([
    ['as it must be', {}, undefined],
    ['that is malformed', 'malformed', 'eip2612Format'],
    ['of another account', { from: payTo }, 'eip2612FromMismatch'],
    ['of another token', { asset: payTo }, 'eip2612AssetMismatch'],
    ['for another spender', { spender: payTo }, 'eip2612SpenderNotPermit2'],
    [
      'that ends within six seconds',
      { deadline: BigInt(nowSeconds + 5) },
      'eip2612DeadlineExpired',
    ],
    ['that lasts for six seconds', { deadline: BigInt(nowSeconds + 6) }, undefined],
    ['over less', { amount: 9_999n }, 'permit2612AmountMismatch'],
    ['over more', { amount: 10_001n }, 'permit2612AmountMismatch'],
  ])('%s', (_, changes, reason) => {
    expect(refusalOf(changes)).toBe(reason)
  })
})
