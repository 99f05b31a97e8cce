import type { Keccak256 } from '../x402/keccak.js'
import type { Rpc } from './rpc.js'
import { readToken, type Token, TokenMismatchError } from './token.js'

/** Tells whether the token still is what was pinned at start: its admin can upgrade it. */
export interface TokenWatch {
  /** What changed, while it differs; payments of this network are then not judged. */
  mismatch(): TokenMismatchError | undefined
  stop(): void
}

const CHECK_MS = 3_600_000

/** Reads the token again every hour; a chain that cannot be read changes nothing. */
export function watchToken(
  rpc: Rpc,
  keccak256: Keccak256,
  pinned: Token,
  log: { error(details: object, message: string): void },
  checkMs = CHECK_MS,
): TokenWatch {
  let mismatch: TokenMismatchError | undefined
  const check = async () => {
    try {
      const { name, version } = await readToken(rpc, keccak256, {
        ...pinned,
        asset: pinned.address,
      })
      const isSame = name === pinned.name && version === pinned.version
      mismatch = isSame
        ? undefined
        : new TokenMismatchError(
            `the token is now "${name}" version "${version}", pinned was "${pinned.name}" version "${pinned.version}": start Arcus again`,
          )
    } catch (error) {
      if (error instanceof TokenMismatchError) mismatch = error
    }
    if (mismatch !== undefined) log.error({ err: mismatch }, 'payments are not judged')
  }
  const timer = setInterval(() => void check(), checkMs)
  return { mismatch: () => mismatch, stop: () => clearInterval(timer) }
}
