import { privateKeyToAccount } from 'viem/accounts'
import type { Payer } from './payment.js'
import { words } from './words.js'

/**
 * The key of the devnet's payer, who has play money. It is one of the public test mnemonic that every local chain prints
 * at its start, so it guards nothing.
 */
const PLAY_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

/** Returns the wallet with play money. Throws where the service does not say that its chain is a local one. */
export function playWallet(devnet: boolean): Payer {
  if (devnet !== true) throw new Error(words.noPlayMoney)
  return privateKeyToAccount(PLAY_KEY)
}
