import { type Address, encodeFunctionData, type Hex, multicall3Abi } from 'viem'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { sendAs } from './a-permit2-payment.js'
import { anAccount } from './an-account.js'

/** Sends a call that comes before all that the service sends; the caller makes the block. */
export async function outbid(url: string, from: Address, to: Address, data: Hex): Promise<Hex> {
  await call(url, 'anvil_impersonateAccount', [from])
  await call(url, 'anvil_setBalance', [from, '0xffffffffffffffff'])
  const price = { maxFeePerGas: '0x2540be4000', maxPriorityFeePerGas: '0x2540be400' }
  return call<Hex>(url, 'eth_sendTransaction', [{ from, to, data, gas: '0x7a120', ...price }])
}

/** Has a stranger make these calls in one transaction, of which each may fail, and waits until it is mined. */
export function sendTogether(
  url: string,
  calls: readonly (readonly [Address, Hex])[],
): Promise<Hex> {
  const members = calls.map(([target, callData]) => ({ target, allowFailure: true, callData }))
  const args = [members] as const
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args })
  return sendAs(url, anAccount().address, devnetContracts.multicall, data)
}
