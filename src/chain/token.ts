import { computeDomainSeparator } from '@arcus/protocol/x402/authorization-digest'
import { currencyOf } from '@arcus/protocol/x402/currencies'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { type Address, bytesToHex, parseAbi, zeroHash } from 'viem'
import { multicall3Address } from './abi.js'
import { answered, asked, createChainClient, rpcErrorOf } from './client.js'
import type { Rpc, RpcOptions } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

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

/** The calls of a FiatToken that are read when nothing waits for them. */
const tokenAbi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function isBlacklisted(address account) view returns (bool)',
  'function paused() view returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
])

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
  const client = createChainClient(rpc)
  const token = { address, abi: tokenAbi } as const
  const read = <Value>(call: Promise<Value>) => answered(call, 'the token')
  const [chainId, code, name, version, separator, decimals, symbol, state, blocklist, paused] =
    await Promise.all([
      asked(client.getChainId(), 'its chain id'),
      asked(client.getCode({ address }), 'the token'),
      read(client.readContract({ ...token, functionName: 'name' })),
      read(client.readContract({ ...token, functionName: 'version' })),
      read(client.readContract({ ...token, functionName: 'DOMAIN_SEPARATOR' })),
      read(client.readContract({ ...token, functionName: 'decimals' })),
      read(client.readContract({ ...token, functionName: 'symbol' })),
      read(
        client.readContract({
          ...token,
          functionName: 'authorizationState',
          args: [someone, zeroHash],
        }),
      ),
      read(client.readContract({ ...token, functionName: 'isBlacklisted', args: [someone] })),
      read(client.readContract({ ...token, functionName: 'paused' })),
    ])
  if (chainId !== place.chainId) {
    throw new TokenMismatchError(
      `the RPC for ${place.network} serves chain id ${chainId}, expected ${place.chainId}`,
    )
  }
  if (code === undefined) {
    throw new TokenMismatchError(`there is no contract at asset ${address} on ${place.network}`)
  }
  const domain = {
    name: requireText(name, 'name()', address),
    version: requireText(version, 'version()', address),
  }
  const shown = requireText(symbol, 'symbol()', address)
  if (state === undefined) {
    throw new TokenMismatchError(`asset ${address} has no authorizationState (EIP-3009)`)
  }
  if (decimals !== TOKEN_DECIMALS) {
    throw new TokenMismatchError(
      `asset ${address} (${shown}) has ${decimals ?? 'no'} decimals, and only tokens with ${TOKEN_DECIMALS} are settled`,
    )
  }
  const domainSeparator = computeDomainSeparator(keccak256, {
    ...domain,
    chainId,
    verifyingContract: address,
  })
  const own = bytesToHex(domainSeparator)
  if (separator !== own) {
    throw new TokenMismatchError(
      `asset ${address} says DOMAIN_SEPARATOR ${separator ?? 'nothing'}, its name "${domain.name}" and version "${domain.version}" give ${own}`,
    )
  }
  return {
    network: place.network,
    chainId,
    address,
    ...domain,
    symbol: shown,
    currency: currencyOf(shown),
    domainSeparator,
    hasBlocklist: blocklist !== undefined,
    hasPause: paused !== undefined,
  }
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
  const call = { address: token.address, abi: tokenAbi, functionName: 'transfer' } as const
  try {
    return await createChainClient(rpc).estimateContractGas({
      ...call,
      args: [holder, 0n],
      account: holder,
    })
  } catch (error) {
    if (rpcErrorOf(error) instanceof RpcUnavailableError) throw rpcErrorOf(error)
    return undefined
  }
}

/** Reads what an account holds of the token, 6-decimal units. Throws `RpcUnavailableError`. */
export function readBalance(rpc: Rpc, { address }: Token, owner: Address): Promise<bigint> {
  const call = { address, abi: tokenAbi, functionName: 'balanceOf', args: [owner] } as const
  return asked(createChainClient(rpc).readContract(call), 'the balance')
}

/** Reads whether a token blocks an account; `undefined` if it does not say. Throws `RpcUnavailableError`. */
export function readIsBlocklisted(
  rpc: Rpc,
  address: Address,
  account: Address,
  options?: RpcOptions,
): Promise<boolean | undefined> {
  const call = { address, abi: tokenAbi, functionName: 'isBlacklisted', args: [account] } as const
  return answered(createChainClient(rpc, options).readContract(call), 'the token')
}

/** Reads whether Multicall3 is at its canonical address; without it payments are sent one by one. */
export async function readHasMulticall3(rpc: Rpc): Promise<boolean> {
  const code = createChainClient(rpc).getCode({ address: multicall3Address })
  return (await asked(code, 'whether there is a multicall')) !== undefined
}

function requireText(text: string | undefined, call: string, address: Address): string {
  if (text) return text
  throw new TokenMismatchError(
    call === 'symbol()'
      ? `asset ${address} does not answer symbol(), so nobody could say what it is`
      : `asset ${address} does not answer ${call}, so it has no EIP-712 domain`,
  )
}

/** Checks that the token still is the one pinned at start: its admin can upgrade it. */
interface TokenWatch {
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
