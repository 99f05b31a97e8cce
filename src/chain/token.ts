import { type Address, decodeAbiParameters, type Hex } from 'viem'
import { computeDomainSeparator } from '../x402/authorization-digest.js'
import type { Keccak256 } from '../x402/keccak.js'
import { addressWord, multicall3Address, selectors, wordOf } from './abi.js'
import type { Rpc } from './rpc.js'
import { isRevert, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'
import type { RpcCall, RpcResult } from './rpc-node.js'

/** A stablecoin as it was found on its chain at start: what Arcus pins and what it can do. */
export interface Token {
  network: string
  chainId: number
  address: Address
  name: string
  version: string
  /** EIP-712, computed from the pinned members and equal to the token's own. */
  domainSeparator: Uint8Array
  hasBlocklist: boolean
  hasPause: boolean
}

/** The chain is not the one the settings name, or the asset is no EIP-3009 token; the message says which. */
export class TokenMismatchError extends Error {
  override readonly name = 'TokenMismatchError'
}

interface TokenPlace {
  network: string
  chainId: number
  asset: Address
}

/**
 * Reads and pins the token of a network. Throws `TokenMismatchError` when chain id, code, EIP-712 domain or
 * EIP-3009 do not fit, and `RpcUnavailableError` when no node answers.
 */
export async function readToken(rpc: Rpc, keccak256: Keccak256, place: TokenPlace): Promise<Token> {
  const address = place.asset.toLowerCase() as Address
  const someone = '0x00000000000000000000000000000000000000aa'
  const call = (data: Hex): RpcCall => ({
    method: 'eth_call',
    params: [{ to: address, data }, 'latest'],
  })
  const answers = await rpc.batch([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getCode', params: [address, 'latest'] },
    call(selectors.name),
    call(selectors.version),
    call(selectors.domainSeparator),
    call(selectors.decimals),
    call(`${selectors.authorizationState}${addressWord(someone)}${wordOf(0)}`),
    call(`${selectors.isBlacklisted}${addressWord(someone)}`),
    call(selectors.paused),
  ])
  requireAnswers(answers)
  const [chainId, code, name, version, separator, decimals, state, blocklist, paused] = answers
  const found = Number(textOf(chainId))
  if (found !== place.chainId) {
    throw new TokenMismatchError(
      `the RPC for ${place.network} serves chain id ${found}, expected ${place.chainId}`,
    )
  }
  if ((textOf(code) ?? '0x') === '0x') {
    throw new TokenMismatchError(`there is no contract at asset ${address} on ${place.network}`)
  }
  const token = {
    network: place.network,
    chainId: place.chainId,
    address,
    name: requireText(name, 'name()', address),
    version: requireText(version, 'version()', address),
    hasBlocklist: isBoolean(blocklist),
    hasPause: isBoolean(paused),
  }
  if (!isBoolean(state)) {
    throw new TokenMismatchError(`asset ${address} has no authorizationState (EIP-3009)`)
  }
  if (textOf(decimals) !== `0x${wordOf(6)}`) {
    throw new TokenMismatchError(`asset ${address} does not have 6 decimals`)
  }
  const domainSeparator = computeDomainSeparator(keccak256, {
    name: token.name,
    version: token.version,
    chainId: token.chainId,
    verifyingContract: address,
  })
  const own = `0x${Buffer.from(domainSeparator).toString('hex')}`
  if (textOf(separator) !== own) {
    throw new TokenMismatchError(
      `asset ${address} says DOMAIN_SEPARATOR ${textOf(separator) ?? 'nothing'}, its name "${token.name}" and version "${token.version}" give ${own}`,
    )
  }
  return { ...token, domainSeparator }
}

/**
 * The gas of a plain transfer of this token, from which the gas of a payment is guessed before the first receipt;
 * `undefined` where the token does not let it be simulated. Throws `RpcUnavailableError`.
 */
export async function readPlainTransferGas(
  rpc: Rpc,
  token: Token,
  holder: Address,
): Promise<bigint | undefined> {
  const data = `${selectors.transfer}${addressWord(holder)}${wordOf(0)}`
  try {
    const gas = await rpc.request('eth_estimateGas', [{ from: holder, to: token.address, data }])
    return BigInt(gas as string)
  } catch (error) {
    if (error instanceof RpcResponseError) return undefined
    throw error
  }
}

/** Whether Multicall3 stands at its canonical address; without it payments are sent one by one. */
export async function readHasMulticall3(rpc: Rpc): Promise<boolean> {
  const code = await rpc.request('eth_getCode', [multicall3Address, 'latest'])
  return typeof code === 'string' && code.length > 2
}

/** A contract may refuse a call; anything else that is no text is the node's trouble and says nothing of the token. */
function requireAnswers(answers: readonly RpcResult[]): void {
  for (const answer of answers) {
    if (answer.ok ? typeof answer.value === 'string' : isRevert(answer.error)) continue
    throw new RpcUnavailableError('the chain node could not read the token')
  }
}

function textOf(result: RpcResult | undefined): string | undefined {
  return result?.ok && typeof result.value === 'string' ? result.value : undefined
}

function isBoolean(result: RpcResult | undefined): boolean {
  const word = textOf(result)
  return word === `0x${wordOf(0)}` || word === `0x${wordOf(1)}`
}

function requireText(result: RpcResult | undefined, what: string, address: Address): string {
  try {
    const [text] = decodeAbiParameters([{ type: 'string' }], (textOf(result) ?? '0x') as Hex)
    if (text !== '') return text
  } catch {
    // Falls through to the one sentence below: no answer and a wrong answer have the same mend.
  }
  throw new TokenMismatchError(
    `asset ${address} does not answer ${what}, so it has no EIP-712 domain`,
  )
}
