import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import type { Address } from 'viem'
import { createChainClient } from '../../chain/client.js'
import { createRpc, type Rpc } from '../../chain/rpc.js'
import { readToken, type Token } from '../../chain/token.js'
import { openSigners, type Signer, trialTransaction } from '../../facilitator/relayer/signer.js'
import { FORWARDED_FORM } from '../../http/health.js'
import { createCheckBuyer } from '../check-buyer.js'
import type { Config, NetworkConfig } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'
import { halvesOf } from '../halves.js'
import { createRunway, type ReadRunway } from '../metrics/gas-money.js'
import {
  checkBuyers,
  checkClock,
  checkMulticall,
  checkNodes,
  checkRegistry,
  checkTokens,
  checkWallets,
  readIsBlocklisted,
  readWallets,
  variables,
} from './chain-checks.js'
import { type Finding, fail, ok, warn } from './finding.js'
import type { DatabaseInspection } from './inspection.js'
import { checkDatabase, checkSettings } from './settings-checks.js'

interface Installation {
  config: Config
  secrets: Secrets
  env: NodeJS.ProcessEnv
  database: DatabaseInspection
  /** Unix milliseconds. */
  now: () => number
}

/** Checks everything that a payment depends on, before or next to a running service. Changes nothing. */
export async function examine(installation: Installation): Promise<Finding[]> {
  const { config, secrets, env, database } = installation
  const keccak256 = await createKeccak256()
  const { signers, close } = openSigners(secrets, keccak256)
  try {
    const chains = await Promise.all(
      config.networks.map((place) => examineNetwork(place, installation, keccak256, signers)),
    )
    return [
      ...checkSettings(config, secrets, env),
      ...checkDatabase(database, config),
      ...chains.flat(),
      ...(await checkPublicAddress(config)),
      ...(await checkOtherHalf(config)),
    ]
  } finally {
    await close()
  }
}

async function examineNetwork(
  place: NetworkConfig,
  { config, secrets, database, now }: Installation,
  keccak256: Keccak256,
  signers: readonly Signer[],
): Promise<Finding[]> {
  const { network } = place
  const rpc = createRpc(place.rpcUrls)
  try {
    const nodes = await checkNodes(rpc, place)
    // Further checks of a chain that does not answer would only repeat that.
    if (nodes.every(({ state }) => state === 'fail')) return nodes
    const { hasFacilitator, hasDirectory } = halvesOf(config)
    const readRunway = database.budgets && createRunway({ network, budgets: database.budgets, now })
    const isMainnet = variables(place) === 'MAINNET'
    const tokens = place.assets.map((asset) => readToken(rpc, keccak256, { ...place, asset }))
    return [
      ...nodes,
      await checkTokens(
        place,
        tokens.map((token) => () => token),
      ),
      await checkClock(rpc, place, now),
      ...(hasFacilitator ? await examineSending(rpc, place, signers, readRunway) : []),
      ...(await checkBuyback(rpc, place, config.buybackAddress)),
      ...(isMainnet && hasDirectory
        ? [await checkRegistry(rpc, place, config.identityRegistry)]
        : []),
      // Listings are about the first network.
      ...(place === config.networks[0] && hasDirectory
        ? await examineBuyers(rpc, tokens, config, secrets)
        : []),
    ]
  } catch {
    return [fail(`chain ${network}`, 'the nodes stopped answering', 'Run the doctor again.')]
  } finally {
    await rpc.close()
  }
}

/** Checks what a facilitator sends transactions with. */
async function examineSending(
  rpc: Rpc,
  place: NetworkConfig,
  signers: readonly Signer[],
  readRunway: ReadRunway | undefined,
): Promise<Finding[]> {
  const addresses = signers.map(({ address }) => address)
  const fee = await createChainClient(rpc).getGasPrice()
  const wallets = await examineWallets(rpc, place, addresses)
  return [
    await checkMulticall(rpc, place),
    ...(await checkSigners(place, signers)),
    await checkWallets(place.network, wallets, fee, readRunway),
  ]
}

/** Has each signer that another service holds sign a transaction that no chain takes. */
async function checkSigners(
  { network, chainId }: NetworkConfig,
  signers: readonly Signer[],
): Promise<Finding[]> {
  const tried = signers
    .filter(({ isRemote }) => isRemote)
    .map(async ({ address, sign }) => {
      const name = `signer ${address} ${network}`
      try {
        await sign(trialTransaction(chainId, address))
        return ok(name, 'it signs')
      } catch (error) {
        return fail(name, (error as Error).message, 'Check the service that holds its key.')
      }
    })
  return Promise.all(tried)
}

async function examineBuyers(
  rpc: Rpc,
  tokens: readonly Promise<Token>[],
  { checks }: Config,
  { checkPrivateKeys }: Secrets,
): Promise<Finding[]> {
  const read = await Promise.allSettled(tokens)
  const sound = read.flatMap((it) => (it.status === 'fulfilled' ? it.value : []))
  const dollars = sound.find(({ currency }) => currency === 'USD')
  const wallets = createCheckBuyer(checkPrivateKeys)?.wallets ?? []
  return checkBuyers(rpc, dollars, wallets, checks.maxAmount)
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

const PUBLIC_TIMEOUT_MS = 5_000

/** Checks whether callers reach the service at its public address, and what the proxies in front say of them. */
export async function checkPublicAddress({
  baseUrl,
  directoryUrl,
  trustProxy,
  only,
}: Pick<Config, 'baseUrl' | 'directoryUrl' | 'trustProxy' | 'only'>): Promise<Finding[]> {
  const name = 'reachable'
  const [setting, url] =
    only === 'directory' ? ['DIRECTORY_URL', directoryUrl] : ['BASE_URL', baseUrl]
  const fix = `If the service runs, check DNS, TLS and proxy: callers come through ${setting}. If it does not, start it.`
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    const response = await fetch(`${url}/health`, { signal, redirect: 'manual' })
    const text = await response.text()
    if (!response.ok || text !== '{"status":"ok"}') {
      return [warn(name, `${url}/health answers ${response.status}`, fix)]
    }
    const form = response.headers.get(FORWARDED_FORM)
    return [ok(name, `${url}/health says ok`), ...checkForwarded(form, trustProxy)]
  } catch {
    return [warn(name, `nothing answers at ${url}`, fix)]
  }
}

const NOBODYS_PAYEES = '/api/payees/0x0000000000000000000000000000000000000000'

/** Checks whether a process of one half reaches the other one, at the address by which it asks it. */
async function checkOtherHalf({
  only,
  baseUrl,
  directoryUrl,
}: Pick<Config, 'only' | 'baseUrl' | 'directoryUrl'>): Promise<Finding[]> {
  if (only === undefined) return []
  const [name, setting, url] =
    only === 'directory'
      ? (['facilitator', 'BASE_URL', `${baseUrl}/supported`] as const)
      : (['directory', 'DIRECTORY_URL', `${directoryUrl}${NOBODYS_PAYEES}`] as const)
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    const { ok: isThere, status } = await fetch(url, { signal, redirect: 'manual' })
    if (isThere) return [ok(name, `it answers at ${setting}`)]
    const fix = 'Have the balancer route each path to its half: docs/operations.md.'
    return [warn(name, `${url} answers ${status}`, fix)]
  } catch {
    return [warn(name, `nothing answers at ${url}`, `Start a ${name}, or correct ${setting}.`)]
  }
}

/** Compares `TRUST_PROXY` with what the request of the doctor had in `X-Forwarded-For`; `null` if nothing said so. */
function checkForwarded(form: string | null, trustProxy: Config['trustProxy']): Finding[] {
  const name = 'X-Forwarded-For'
  const isTrusted = trustProxy !== false
  if (form === 'unreadable' && isTrusted) {
    const detail = 'the proxy writes no address into it: all callers share one rate limit'
    return [warn(name, detail, 'Have the proxy write the address of the connection, alone.')]
  }
  if (form === 'none' && isTrusted) {
    const detail = 'TRUST_PROXY is set, and no proxy sets it: callers may choose their address'
    return [warn(name, detail, 'Have the proxy set it, or unset TRUST_PROXY.')]
  }
  if (form === 'addresses' && !isTrusted) {
    const detail = 'a proxy sets it, and TRUST_PROXY is unset: all callers share one rate limit'
    return [warn(name, detail, 'Set TRUST_PROXY to the number of proxies, such as 1.')]
  }
  return form === null ? [] : [ok(name, form)]
}
