import { type Address, type Hex, toHex } from 'viem'
import { type HDAccount, mnemonicToAccount } from 'viem/accounts'

// The test mnemonic that anvil and Hardhat print at start. These keys are public: never send them money.
const publicTestMnemonic = 'test test test test test test test test test test test junk'

export type DevnetAccount = { address: Address; privateKey: Hex; account: HDAccount }

/** Wallets that pay for gas on the devnet. All accounts here are public test keys. */
export const devnetRelayers: readonly DevnetAccount[] = [0, 1, 2].map(accountAt)

/** Pays for the sample API in `npm run pay`. */
export const devnetPayer: DevnetAccount = accountAt(3)

/** Owns the sample API. */
export const devnetMerchant: DevnetAccount = accountAt(4)

/** Receives the payments of the hosted endpoints. */
export const devnetBuyback: DevnetAccount = accountAt(5)

/** Signs claims and refunds of the hosted endpoints. */
export const devnetHost: DevnetAccount = accountAt(6)

/** Buy from listed APIs, to check that they deliver. */
export const devnetCheckers: readonly DevnetAccount[] = [7, 8].map(accountAt)

/** Signs attestations of payments, and holds no money. */
export const devnetAttester: DevnetAccount = accountAt(9)

function accountAt(addressIndex: number): DevnetAccount {
  const account = mnemonicToAccount(publicTestMnemonic, { addressIndex })
  const key = account.getHdKey().privateKey
  if (key === null) throw new Error('the test mnemonic gave no private key')
  return { address: account.address, privateKey: toHex(key), account }
}
