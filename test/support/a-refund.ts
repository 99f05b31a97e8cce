import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRefunds, type RefundsOptions } from '@arcus/merchant/refunds'
import { expect } from 'vitest'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { nowSeconds } from './a-signed-payment.js'

/** Gives part of a payment back as the plugin of merchants does. */
export async function giveBack(
  facilitator: string,
  signer: RefundsOptions['signer'],
  refund: { payer: string; paymentNonce: string; amount: bigint },
): Promise<void> {
  const path = join(tmpdir(), `${crypto.randomUUID()}.jsonl`)
  const refunds = await createRefunds({ facilitator, signer, path })
  const planned = await refunds.plan({
    network: 'eip155:5042',
    asset: devnetContracts.usdc,
    extra: { name: 'USDC', version: '2' },
    ...refund,
    amount: refund.amount.toString(),
    paymentValidBefore: Number(nowSeconds()) + 600,
  })
  await planned.confirm()
  await refunds.run()
  expect(refunds.pending()).toEqual([])
  await refunds.close()
}
