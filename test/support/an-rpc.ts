import type { Rpc } from '../../src/chain/rpc.js'

/** Nodes of which a test says the answers that it needs; any other call fails. */
export function anRpc(answers: Partial<Rpc>): Rpc {
  const unexpected = async (): Promise<never> => {
    throw new Error('the test expects no such call')
  }
  return {
    request: unexpected,
    batch: unexpected,
    everywhere: unexpected,
    prefer() {},
    async close() {},
    ...answers,
  }
}
