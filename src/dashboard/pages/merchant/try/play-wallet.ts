import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { ConsoleSettings } from '../../../../api/service.js'
import type { Payer } from './permit2.js'
import { words } from './words.js'

/**
 * The key of the devnet's payer, who has play money. It is one of the public test mnemonic that every local chain prints
 * at its start, so it guards nothing.
 */
const PLAY_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

/** Returns the wallet with play money. Throws where the service does not say that its chain is a local one. */
export function playWallet({
  devnet,
  networks = [],
}: Pick<ConsoleSettings, 'devnet'> & Partial<Pick<ConsoleSettings, 'networks'>>): Payer {
  if (devnet !== true) throw new Error(words.noPlayMoney)
  const account = privateKeyToAccount(PLAY_KEY)
  const node = networks.find(({ listed }) => listed)?.walletRpcUrls[0]
  return {
    address: account.address,
    sign: (typedData) => account.signTypedData(typedData),
    async read(to, data) {
      if (node === undefined) throw new Error(words.noNode)
      const call = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to, data }, 'latest'] }
      const answer = await fetch(node, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(call),
        signal: AbortSignal.timeout(5_000),
      })
      return ((await answer.json()) as { result: Hex }).result
    },
  }
}
