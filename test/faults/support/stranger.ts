import { mnemonicToAccount } from 'viem/accounts'
import { encodeTransferWithAuthorization } from '../../../src/chain/abi.js'
import { call } from '../../../src/devnet/rpc.js'
import { asset, type SignedPayment } from './payments.js'
import { until } from './world.js'

// An account that anvil signs for.
const stranger = mnemonicToAccount('test test test test test test test test test test test junk', {
  addressIndex: 9,
}).address

/** Sends somebody's signed authorization from another wallet, for a higher fee than the service offers. */
export async function submitAsStranger(
  chainUrl: string,
  { authorization, signature }: SignedPayment,
): Promise<void> {
  const data = encodeTransferWithAuthorization(authorization, signature)
  const fees = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0xba43b7400' }
  const transaction = { from: stranger, to: asset, data, gas: '0x30d40', ...fees }
  await call(chainUrl, 'eth_sendTransaction', [transaction])
}

/** Resolves when all the stranger sent is in a block. */
export async function untilStrangerMined(chainUrl: string): Promise<void> {
  const count = async (tag: string) =>
    Number(await call<string>(chainUrl, 'eth_getTransactionCount', [stranger, tag]))
  const wanted = await count('pending')
  await until('the stranger is mined', async () => (await count('latest')) >= wanted)
}
