import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Address } from 'viem'
import { devnetContracts } from '../../src/devnet/fixtures.js'

type Config = Parameters<typeof x402Client.fromConfig>[0]

/** Returns a fetch that pays by a scheme of the official client, which pays no token that is not allowed by name. */
export function payingBy(
  client: Config['schemes'][number]['client'],
  { asset = devnetContracts.usdc, send = fetch }: { asset?: Address; send?: typeof fetch } = {},
): typeof fetch {
  const network = 'eip155:5042'
  const spendControls = { allowedAssets: [{ network, asset } as const] }
  return wrapFetchWithPayment(
    send,
    x402Client.fromConfig({ schemes: [{ network, client }], spendControls }),
  )
}
