import type { Address, Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { encodeTransferWithAuthorization } from '../../../src/chain/abi.js'
import { encodePermit2Settle, proxyOf } from '../../../src/chain/permit2.js'
import { fundNative } from '../../../src/devnet/fixtures.js'
import { call } from '../../../src/devnet/rpc.js'
import { asset, permit2Scheme, type SignedPayment, uptoFacilitator } from './payments.js'
import { until } from './world.js'

// An account that anvil signs for.
const stranger = mnemonicToAccount('test test test test test test test test test test test junk', {
  addressIndex: 9,
}).address

/** Sends somebody's signed payment from another wallet, for a higher fee than the service offers. */
export async function submitAsStranger(chainUrl: string, payment: SignedPayment): Promise<void> {
  const { to, data } = callOf(payment)
  await sendDearly(chainUrl, stranger, to, data)
}

/** Returns the call that settles a payment. */
function callOf({ payer, payTo, value, nonce, authorization, signature }: SignedPayment) {
  if (permit2Scheme === undefined) {
    return { to: asset, data: encodeTransferWithAuthorization(authorization, signature) }
  }
  const facilitator = permit2Scheme === 'upto' ? uptoFacilitator : undefined
  const { value: permitted, validAfter, validBefore } = authorization
  const deadline = validBefore - 1n
  const parties = { asset, payer, payTo, value, nonce }
  const transfer = { ...parties, permitted, deadline, validAfter, facilitator }
  return { to: proxyOf(transfer), data: encodePermit2Settle(transfer, signature) }
}

/** Sends a call from any wallet for a higher fee than the service offers, which makes it the first of its block. */
export async function sendDearly(
  chainUrl: string,
  from: Address,
  to: Address,
  data: Hex,
): Promise<Hex> {
  if (from !== stranger) {
    await fundNative(chainUrl, from, 10n ** 18n)
    await call(chainUrl, 'anvil_impersonateAccount', [from])
  }
  const fees = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0xba43b7400' }
  const transaction = { from, to, data, gas: '0x30d40', ...fees }
  return call<Hex>(chainUrl, 'eth_sendTransaction', [transaction])
}

/** Resolves when all the stranger sent is in a block. */
export async function untilStrangerMined(chainUrl: string): Promise<void> {
  const count = async (tag: string) =>
    Number(await call<string>(chainUrl, 'eth_getTransactionCount', [stranger, tag]))
  const wanted = await count('pending')
  await until('the stranger is mined', async () => (await count('latest')) >= wanted)
}

/** Resolves when a transaction is in a block. */
export function untilMined(chainUrl: string, hash: Hex): Promise<void> {
  return until('the transaction is mined', async () => {
    return (await call(chainUrl, 'eth_getTransactionReceipt', [hash])) !== null
  })
}
