import type { Address } from 'viem'
import { createRpc, type Rpc } from '../chain/rpc.js'
import { readToken } from '../chain/token.js'
import type { Config, NetworkConfig } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'
import { createRunway } from '../metrics/runway.js'
import { createLocalSigner } from '../relayer/signer.js'
import type { DatabaseInspection } from '../store/stores.js'
import { createKeccak256, type Keccak256 } from '../x402/keccak.js'
import {
  checkClock,
  checkMulticall,
  checkNodes,
  checkRegistry,
  checkToken,
  readIsBlocklisted,
  variables,
} from './check-chain.js'
import { checkDatabase } from './check-database.js'
import { checkPublicAddress } from './check-public-address.js'
import { checkSettings } from './check-settings.js'
import { checkWallets, readWallets } from './check-wallets.js'
import { type Finding, fail } from './finding.js'

export interface Patient {
  config: Config
  secrets: Secrets
  env: NodeJS.ProcessEnv
  database: DatabaseInspection
  /** Unix milliseconds. */
  now: () => number
}

/** Looks at everything a payment depends on, before or beside a running service; changes nothing. */
export async function examine(patient: Patient): Promise<Finding[]> {
  const { config, secrets, env, database } = patient
  const keccak256 = await createKeccak256()
  const chains = await Promise.all(
    config.networks.map((place) => examineNetwork(place, patient, keccak256)),
  )
  return [
    ...checkSettings(config, secrets, env),
    ...checkDatabase(database),
    ...chains.flat(),
    await checkPublicAddress(config.baseUrl),
  ]
}

async function examineNetwork(
  place: NetworkConfig,
  { config, secrets, database, now }: Patient,
  keccak256: Keccak256,
): Promise<Finding[]> {
  const { network } = place
  const rpc = createRpc(place.rpcUrls)
  try {
    const nodes = await checkNodes(rpc, place)
    // What is asked of a chain that does not answer only repeats that.
    if (nodes.every(({ state }) => state === 'fail')) return nodes
    const addresses = secrets.relayerPrivateKeys.map(
      (key) => createLocalSigner(key, keccak256).address,
    )
    const readRunway = database.budgets && createRunway({ network, budgets: database.budgets, now })
    const fee = BigInt((await rpc.request('eth_gasPrice', [])) as string)
    const isMainnet = variables(place) === 'MAINNET'
    return [
      ...nodes,
      await checkToken(place, () => readToken(rpc, keccak256, place)),
      await checkClock(rpc, place, now),
      await checkMulticall(rpc, place),
      await checkWallets(network, await examineWallets(rpc, place, addresses), fee, readRunway),
      ...(await checkBuyback(rpc, place, config.buybackAddress)),
      ...(isMainnet ? [await checkRegistry(rpc, place, config.identityRegistry)] : []),
    ]
  } catch {
    return [fail(`chain ${network}`, 'the nodes stopped answering', 'Run the doctor again.')]
  } finally {
    await rpc.close()
  }
}

async function examineWallets(rpc: Rpc, place: NetworkConfig, addresses: readonly Address[]) {
  const wallets = await readWallets(rpc, addresses)
  return Promise.all(
    wallets.map(async (wallet) => ({
      ...wallet,
      isBlocklisted: await readIsBlocklisted(rpc, place, wallet.address),
    })),
  )
}

async function checkBuyback(
  rpc: Rpc,
  place: NetworkConfig,
  buyback: Address | undefined,
): Promise<Finding[]> {
  if (buyback === undefined) return []
  const name = `buyback ${place.network}`
  const isBlocked = await readIsBlocklisted(rpc, place, buyback)
  if (!isBlocked) return []
  return [fail(name, 'the token blocks BUYBACK_ADDRESS', 'Official merchants need another one.')]
}
