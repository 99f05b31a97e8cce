import { computeDomainSeparator } from '@arcus/protocol/x402/authorization-digest'
import { currencyOf } from '@arcus/protocol/x402/currencies'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { type Address, decodeAbiParameters, type Hex } from 'viem'
import { addressWord, multicall3Address, selectors, wordOf } from './abi.js'
import type { Rpc, RpcCall, RpcResult } from './rpc.js'
import { isRevert, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'

/** A stablecoin as it was found on its chain at start: the values that Arcus pins, and its abilities. */
export interface Token {
  network: string
  chainId: number
  address: Address
  name: string
  version: string
  symbol: string
  /** ISO 4217; `null` where the symbol is not known. */
  currency: string | null
  /** The EIP-712 domain separator, computed from the pinned members and equal to the token's own. */
  domainSeparator: Uint8Array
  hasBlocklist: boolean
  hasPause: boolean
}

/** All tokens that are settled have so many decimals. */
export const TOKEN_DECIMALS = 6

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
    call(selectors.symbol),
    call(`${selectors.authorizationState}${addressWord(someone)}${wordOf(0)}`),
    call(`${selectors.isBlacklisted}${addressWord(someone)}`),
    call(selectors.paused),
  ])
  requireAnswers(answers)
  const [
    chainId,
    code,
    name,
    version,
    separator,
    decimals,
    symbolAnswer,
    state,
    blocklist,
    paused,
  ] = answers
  const found = Number(textOf(chainId))
  if (found !== place.chainId) {
    throw new TokenMismatchError(
      `the RPC for ${place.network} serves chain id ${found}, expected ${place.chainId}`,
    )
  }
  if ((textOf(code) ?? '0x') === '0x') {
    throw new TokenMismatchError(`there is no contract at asset ${address} on ${place.network}`)
  }
  const domain = {
    name: requireText(name, 'name()', address),
    version: requireText(version, 'version()', address),
  }
  const symbol = requireText(symbolAnswer, 'symbol()', address)
  const token = {
    network: place.network,
    chainId: place.chainId,
    address,
    ...domain,
    symbol,
    currency: currencyOf(symbol),
    hasBlocklist: isBoolean(blocklist),
    hasPause: isBoolean(paused),
  }
  if (!isBoolean(state)) {
    throw new TokenMismatchError(`asset ${address} has no authorizationState (EIP-3009)`)
  }
  if (textOf(decimals) !== `0x${wordOf(TOKEN_DECIMALS)}`) {
    throw new TokenMismatchError(
      `asset ${address} (${symbol}) has ${countOf(decimals)} decimals, and only tokens with ${TOKEN_DECIMALS} are settled`,
    )
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
 * Reads the gas of a plain transfer of this token, from which the gas of a payment is guessed before the first receipt;
 * `undefined` where the token cannot be simulated. Throws `RpcUnavailableError`.
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

/** Reads whether Multicall3 is at its canonical address; without it payments are sent one by one. */
export async function readHasMulticall3(rpc: Rpc): Promise<boolean> {
  const code = await rpc.request('eth_getCode', [multicall3Address, 'latest'])
  return typeof code === 'string' && code.length > 2
}

/** Throws unless every call was answered or reverted. Any other answer is the node's trouble and says nothing about the token. */
function requireAnswers(answers: readonly RpcResult[]): void {
  for (const answer of answers) {
    if (answer.ok ? typeof answer.value === 'string' : isRevert(answer.error)) continue
    throw new RpcUnavailableError('the chain node could not read the token')
  }
}

function textOf(result: RpcResult | undefined): string | undefined {
  return result?.ok && typeof result.value === 'string' ? result.value : undefined
}

/** Reads a number for a message. */
function countOf(result: RpcResult | undefined): string {
  const word = textOf(result)
  return word !== undefined && /^0x[0-9a-f]{64}$/.test(word) ? `${BigInt(word)}` : 'no'
}

function isBoolean(result: RpcResult | undefined): boolean {
  const word = textOf(result)
  return word === `0x${wordOf(0)}` || word === `0x${wordOf(1)}`
}

function requireText(result: RpcResult | undefined, call: string, address: Address): string {
  try {
    const [text] = decodeAbiParameters([{ type: 'string' }], (textOf(result) ?? '0x') as Hex)
    if (text !== '') return text
  } catch {
    // No answer and a wrong answer have the same message and the same repair.
  }
  throw new TokenMismatchError(
    call === 'symbol()'
      ? `asset ${address} does not answer symbol(), so nobody could say what it is`
      : `asset ${address} does not answer ${call}, so it has no EIP-712 domain`,
  )
}

/** Checks that the token still is the one pinned at start: its admin can upgrade it. */
export interface TokenWatch {
  /** Reads the token now. Throws `TokenMismatchError` when it is not the pinned one, and `RpcUnavailableError`. */
  read(): Promise<Token>
  /** Returns what changed, while the token differs; payments in it are then not verified. */
  mismatch(): TokenMismatchError | undefined
  stop(): void
}

const CHECK_MS = 3_600_000

/** Reads the token again every hour, and whenever `read` is called; a chain that cannot be read changes nothing. */
export function watchToken(
  rpc: Rpc,
  keccak256: Keccak256,
  pinned: Token,
  log: { error(details: object, message: string): void },
  checkMs = CHECK_MS,
): TokenWatch {
  let mismatch: TokenMismatchError | undefined
  const read = async () => {
    try {
      const token = await readToken(rpc, keccak256, { ...pinned, asset: pinned.address })
      requirePinned(token, pinned)
      mismatch = undefined
      return token
    } catch (error) {
      if (error instanceof TokenMismatchError) {
        mismatch = error
        log.error({ err: error, asset: pinned.address }, 'payments in this token are not verified')
      }
      throw error
    }
  }
  const timer = setInterval(() => void read().catch(() => {}), checkMs)
  return { read, mismatch: () => mismatch, stop: () => clearInterval(timer) }
}

/** Throws for a token that was renamed. FiatToken makes its domain from its present name, so such a token is consistent in itself. */
function requirePinned({ name, version, symbol }: Token, pinned: Token): void {
  const isSameDomain = name === pinned.name && version === pinned.version
  if (isSameDomain && symbol === pinned.symbol) return
  throw new TokenMismatchError(
    isSameDomain
      ? `the symbol of the token is now "${symbol}", pinned was "${pinned.symbol}": start Arcus again`
      : `the token is now "${name}" version "${version}", pinned was "${pinned.name}" version "${pinned.version}": start Arcus again`,
  )
}
