import type { Keccak256 } from '../x402/keccak.js'
import type { Rpc } from './rpc.js'
import { readToken, type Token, TokenMismatchError } from './token.js'

/** Tells whether the token still is what was pinned at start: its admin can upgrade it. */
export interface TokenWatch {
  /** Reads the token now. Throws `TokenMismatchError` when it is not the pinned one, and `RpcUnavailableError`. */
  read(): Promise<Token>
  /** What changed, while it differs; payments of this network are then not judged. */
  mismatch(): TokenMismatchError | undefined
  stop(): void
}

const CHECK_MS = 3_600_000

/** Reads the token again every hour, and whenever it is asked to; a chain that cannot be read changes nothing. */
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
        log.error({ err: error }, 'payments are not judged')
      }
      throw error
    }
  }
  const timer = setInterval(() => void read().catch(() => {}), checkMs)
  return { read, mismatch: () => mismatch, stop: () => clearInterval(timer) }
}

/** FiatToken makes its domain of its present name, so a token that was renamed is sound in itself. */
function requirePinned({ name, version }: Token, pinned: Token): void {
  if (name === pinned.name && version === pinned.version) return
  throw new TokenMismatchError(
    `the token is now "${name}" version "${version}", pinned was "${pinned.name}" version "${pinned.version}": start Arcus again`,
  )
}
