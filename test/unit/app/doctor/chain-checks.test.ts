import { expect, it } from 'vitest'
import { checkWallets } from '../../../../src/app/doctor/chain-checks.js'

it('shows the gas money of a wallet to the millionth of a dollar', async () => {
  const address = `0x${'f3'.repeat(20)}` as const
  const wallet = { address, balance: 9_999_999_954_938_125_934_310n, isBlocklisted: false }
  expect(await checkWallets('eip155:5042', [wallet], 1n, undefined)).toMatchObject({
    state: 'ok',
    detail: `${address} holds 9999.999954 USDC`,
  })
})
