import type { Rpc } from '../../src/chain/rpc.js'
import { unexpected } from './unexpected.js'

/** Nodes of which a test says the answers that it needs; any other call fails. */
export function anRpc(answers: Partial<Rpc>): Rpc {
  return {
    request: unexpected,
    batch: unexpected,
    everywhere: unexpected,
    prefer() {},
    async close() {},
    ...answers,
  }
}
