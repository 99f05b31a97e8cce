import { selectors } from '../chain/abi.js'
import { readRegistryVersion } from '../chain/identity-registry.js'
import type { Rpc } from '../chain/rpc.js'
import { readHasMulticall3, type Token, TokenMismatchError } from '../chain/token.js'
import type { NetworkConfig } from '../config/config.js'
import { type Finding, fail, ok, warn } from './finding.js'

export type ChainPlace = Pick<NetworkConfig, 'network' | 'chainId' | 'asset'>

const READ_TIMEOUT_MS = 3_000
/** Arc makes a block in less than a second. */
const STALE_HEAD_SECONDS = 30
/** What verify allows a payment to expire within; a clock that is off by more refuses good payments. */
const MAX_CLOCK_SECONDS = 5
/** Nodes of one provider are a block or two apart. */
const MAX_LAG_BLOCKS = 10

/** Whether the chain is the one of the settings and the asset a token that can be settled. */
export async function checkToken(
  place: ChainPlace,
  readToken: () => Promise<Token>,
): Promise<Finding> {
  const name = `chain ${place.network}`
  const group = variables(place)
  try {
    const token = await readToken()
    const detail = `chain id ${place.chainId}, token "${token.name}" version "${token.version}"`
    return ok(name, detail)
  } catch (error) {
    return error instanceof TokenMismatchError
      ? fail(name, error.message, `Correct ${group}_RPC_URLS or ${group}_ASSET.`)
      : fail(name, 'the chain cannot be read', `Check ${group}_RPC_URLS and the way there.`)
  }
}

/** Every node by its place in the settings: whether it answers, for which chain, and how far behind it is. */
export async function checkNodes(rpc: Rpc, place: ChainPlace): Promise<Finding[]> {
  const options = { timeoutMs: READ_TIMEOUT_MS }
  const [chainIds, heads] = await Promise.all([
    rpc.everywhere('eth_chainId', [], options),
    rpc.everywhere('eth_blockNumber', [], options),
  ])
  const numbers = heads.map((head) => (head.ok ? Number(head.value) : undefined))
  const best = Math.max(0, ...numbers.map((number) => number ?? 0))
  const some = chainIds.some((answer) => answer.ok)
  return chainIds.map((answer, i) => {
    const name = `node ${i + 1} of ${place.network}`
    const setting = `${variables(place)}_RPC_URLS`
    if (!answer.ok) {
      const say = some ? warn : fail
      return say(name, 'does not answer', `Check entry ${i + 1} of ${setting}.`)
    }
    if (Number(answer.value) !== place.chainId) {
      const detail = `serves chain id ${Number(answer.value)}, expected ${place.chainId}`
      return fail(name, detail, `Remove entry ${i + 1} of ${setting}.`)
    }
    const number = numbers[i]
    if (number === undefined || best - number > MAX_LAG_BLOCKS) {
      const lag = number === undefined ? 'tells no block' : `is ${best - number} blocks behind`
      return warn(name, lag, `Ask its operator, or take entry ${i + 1} out of ${setting}.`)
    }
    return ok(name, `at block ${number}`)
  })
}

/** The chain's time against ours. `now` is in Unix milliseconds. */
export async function checkClock(
  rpc: Rpc,
  { network }: ChainPlace,
  now: () => number,
): Promise<Finding> {
  const name = `clock ${network}`
  try {
    const block = (await rpc.request('eth_getBlockByNumber', ['latest', false], {
      timeoutMs: READ_TIMEOUT_MS,
    })) as { timestamp: string }
    const ahead = Number(block.timestamp) - now() / 1000
    if (ahead > MAX_CLOCK_SECONDS) {
      const detail = `this machine is ${Math.round(ahead)} seconds behind the chain`
      return fail(name, detail, 'Set the clock: payments are judged by it. Run an NTP client.')
    }
    if (-ahead > STALE_HEAD_SECONDS) {
      return warn(
        name,
        `the newest block is ${Math.round(-ahead)} seconds old`,
        'Either the chain stands still, or the node, or this clock is ahead: compare with another.',
      )
    }
    return ok(name, `the newest block is ${Math.max(0, -ahead).toFixed(1)} seconds old`)
  } catch {
    return fail(name, 'the newest block cannot be read', 'Mend the nodes first.')
  }
}

export async function checkMulticall(rpc: Rpc, { network }: ChainPlace): Promise<Finding> {
  const name = `multicall ${network}`
  const has = await readHasMulticall3(rpc).catch(() => undefined)
  if (has === true) return ok(name, 'Multicall3 stands at its address; payments share transactions')
  const detail =
    has === false ? 'there is no Multicall3: payments are sent one by one' : 'it cannot be read'
  return warn(name, detail, 'Have it deployed at its canonical address; each payment costs more.')
}

/** The ERC-8004 registry: without it listings have no identity, and payments nothing to fear. */
export async function checkRegistry(
  rpc: Rpc,
  { network }: ChainPlace,
  registry: `0x${string}`,
): Promise<Finding> {
  const name = `identity registry ${network}`
  const version = await readRegistryVersion(rpc, registry).catch(() => undefined)
  return version === undefined
    ? warn(name, 'there is none at its address', 'Correct IDENTITY_REGISTRY.')
    : ok(name, `ERC-8004, version ${version}`)
}

/** Whether the token refuses an address; `undefined` where it has no such list. */
export async function readIsBlocklisted(
  rpc: Rpc,
  { asset }: ChainPlace,
  address: string,
): Promise<boolean | undefined> {
  const data = `${selectors.isBlacklisted}${address.slice(2).toLowerCase().padStart(64, '0')}`
  const call = { method: 'eth_call', params: [{ to: asset, data }, 'latest'] }
  const [result] = await rpc.batch([call], { timeoutMs: READ_TIMEOUT_MS })
  if (!result?.ok || typeof result.value !== 'string' || result.value.length !== 66)
    return undefined
  return BigInt(result.value) !== 0n
}

/** `MAINNET` or `TESTNET`, as the variables of the network begin. */
export function variables({ network }: Pick<ChainPlace, 'network'>): string {
  return network === 'eip155:5042' ? 'MAINNET' : 'TESTNET'
}
