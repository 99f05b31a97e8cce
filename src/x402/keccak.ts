import { createKeccak } from 'hash-wasm'

/** Hashes bytes of any length to 32 fresh bytes. */
export type Keccak256 = (bytes: Uint8Array) => Uint8Array

/**
 * Loads keccak-256 in WebAssembly, an order of magnitude faster than the JavaScript one viem nests. The one hasher
 * behind it is stateful: each call runs it from start to end without yielding, so everybody may share the function.
 */
export async function createKeccak256(): Promise<Keccak256> {
  const hasher = await createKeccak(256)
  return (bytes) => hasher.init().update(bytes).digest('binary')
}
