import { type Address, createWalletClient, http, publicActions } from 'viem'
import type { DevnetAccount } from '../../../src/devnet/accounts.js'
import { fundNative, readArtifact } from '../../../src/devnet/fixtures.js'

/** Deploys a contract wallet (ERC-1271) that accepts the signatures of this account. */
export async function deployContractWallet(
  chainUrl: string,
  { account, address }: DevnetAccount,
): Promise<Address> {
  await fundNative(chainUrl, address, 10n ** 18n)
  const chain = createWalletClient({ account, transport: http(chainUrl) }).extend(publicActions)
  const { abi, bytecode } = readArtifact('Wallet1271')
  const hash = await chain.deployContract({ abi, bytecode, args: [address], chain: null })
  const { contractAddress } = await chain.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  return contractAddress as Address
}
