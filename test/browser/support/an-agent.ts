import { createWalletClient, http, publicActions } from 'viem'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { devnetContracts, fundNative, readArtifact } from '../../../src/devnet/fixtures.js'

/** The name of the devnet's registry in registration files. */
export const registryName = `eip155:5042:${devnetContracts.identityRegistry}`

/** Registers the next agent of the mock registry for the devnet's merchant; ids count from 0. */
export async function registerAgent(chainUrl: string, file: Record<string, unknown>) {
  const { abi } = readArtifact('MockIdentityRegistry')
  await fundNative(chainUrl, devnetMerchant.address, 10n ** 18n)
  const chain = createWalletClient({
    account: devnetMerchant.account,
    transport: http(chainUrl),
  }).extend(publicActions)
  const json = Buffer.from(JSON.stringify(file)).toString('base64')
  const hash = await chain.writeContract({
    address: devnetContracts.identityRegistry,
    abi,
    functionName: 'register',
    args: [`data:application/json;base64,${json}`],
    chain: null,
  })
  await chain.waitForTransactionReceipt({ hash, pollingInterval: 50 })
}

/** Returns a registration file of the agent. */
export const fileOf = (agentId: number) => ({
  type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v1',
  name: 'An agent of the tests',
  registrations: [{ agentId, agentRegistry: registryName }],
})
