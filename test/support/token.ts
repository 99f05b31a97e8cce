import { encodeFunctionData, type Hex } from 'viem'
import { vi } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { devnetContracts, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import type { PaymentWish, SignedPayment } from './a-signed-payment.js'

/** What each kind of `/supported` says about the tokens while the settings name none. */
export const takesUsdc = {
  assets: [
    {
      address: devnetContracts.usdc,
      symbol: 'USDC',
      decimals: 6,
      name: 'USDC',
      version: '2',
      currency: 'USD',
      minAmount: '1',
    },
  ],
}

/** The same payment in euros. */
export function inEurc(wish: PaymentWish = {}): PaymentWish {
  const asset = devnetContracts.eurc
  return {
    ...wish,
    domain: { name: 'EURC', verifyingContract: asset, ...wish.domain },
    requirement: { asset, extra: { name: 'EURC', version: '2' }, ...wish.requirement },
  }
}

/** Enough for a busy machine. */
const MINED = { timeout: 30_000 }

/**
 * Sends a call to the token past the service, and waits until it is mined: a payment's own
 * authorization, or any function.
 */
export async function sendToToken(
  chainUrl: string,
  what: SignedPayment | string,
  args?: unknown[],
): Promise<Hex> {
  const [functionName, inputs] =
    typeof what === 'string'
      ? [what, args ?? []]
      : ['transferWithAuthorization', authorizationArguments(what)]
  const data = encodeFunctionData({ abi: readArtifact('MockUsdc').abi, functionName, args: inputs })
  const from = devnetRelayers[2]?.address
  const transaction = { from, to: devnetContracts.usdc, data }
  const hash = await call<Hex>(chainUrl, 'eth_sendTransaction', [transaction])
  await vi.waitFor(async () => {
    const receipt = await call(chainUrl, 'eth_getTransactionReceipt', [hash])
    if (receipt === null) throw new Error('not mined yet')
  }, MINED)
  return hash
}

/** A payment's authorization as the token takes it. */
export function authorizationArguments({ paymentPayload }: SignedPayment): unknown[] {
  const { authorization, signature } = paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const numbers = [value, validAfter, validBefore].map((text) => BigInt(text as string))
  return [from, to, ...numbers, nonce, signature]
}
