import { type Hex, keccak256, toHex } from 'viem'
import { type Behaviour, ConnectionDropped, type RpcAnswer, type RpcProxy } from './rpc-proxy.js'

/** Closes the connection; the call never reaches the node. */
export const dropped: Behaviour = async () => {
  throw new ConnectionDropped()
}

/** Closes the connection after the node has taken the call. */
export const droppedOnceForwarded: Behaviour = async (call) => {
  await call.forward()
  throw new ConnectionDropped()
}

export function delayed(ms: number): Behaviour {
  return async (call) => {
    await pause(ms)
    return call.forward()
  }
}

export const duplicated: Behaviour = async (call) => {
  const [first] = await Promise.all([call.forward(), call.forward()])
  return first
}

/** A method the node does not have. */
export const unsupported: Behaviour = async ({ method }) => ({
  error: { code: -32601, message: `the method ${method} does not exist/is not available` },
})

/** The node never hears of it. */
export function refused(message: string): Behaviour {
  return async () => ({ error: { code: -32000, message } })
}

/** The node takes the transaction, the caller is told otherwise. */
export function refusedThoughForwarded(message: string): Behaviour {
  return async (call) => {
    await call.forward()
    return { error: { code: -32603, message } }
  }
}

/** Answers a transaction's hash as if it had been taken. */
export const swallowed: Behaviour = async ({ params }) => ({ result: keccak256(params[0] as Hex) })

/** Knows of no receipt. */
export const forgetful: Behaviour = async ({ method }) => ({
  result: method === 'eth_getBlockReceipts' ? [] : null,
})

/** Refuses every other call with these errors in turn, as a node beyond its quota does. */
export function everyOther(...answers: RpcAnswer[]): Behaviour {
  let asked = 0
  return async (call) => {
    const turn = asked++
    return turn % 2 === 0 ? (answers[(turn / 2) % answers.length] as RpcAnswer) : call.forward()
  }
}

/** Gathers calls until `count` are there or 300 ms have gone, then forwards the last first. */
export function reversed(count: number): Behaviour {
  let waiting: (() => Promise<void>)[] = []
  let timer: NodeJS.Timeout | undefined
  const release = async () => {
    clearTimeout(timer)
    timer = undefined
    const calls = waiting.reverse()
    waiting = []
    for (const forward of calls) await forward()
  }
  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push(() => call.forward().then(resolve, reject))
      if (waiting.length >= count) void release()
      else timer ??= setTimeout(() => void release(), 300)
    })
}

/** Never answers while it lasts; then the connection closes. */
export function hanging(): { behaviour: Behaviour; end(): void } {
  let end = () => {}
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  const behaviour: Behaviour = async () => {
    await over
    throw new ConnectionDropped()
  }
  return { behaviour, end }
}

/** A node that stands still at a block: nothing after it exists for the caller, what is sent goes on all the same. */
export function standStill(proxy: RpcProxy, block: number): () => void {
  const at = toHex(block)
  const isLater = (value: unknown) => Number((value as { blockNumber: Hex }).blockNumber) > block
  const hide = (answer: RpcAnswer): RpcAnswer =>
    'result' in answer && answer.result !== null && isLater(answer.result)
      ? { result: null }
      : answer
  const atBlock =
    (position: number): Behaviour =>
    (call) => {
      const params = [...call.params]
      params[position] = at
      return call.forward(params)
    }
  const lifts = [
    proxy.fault('eth_blockNumber', async () => ({ result: at })),
    proxy.fault('eth_getBlockByNumber', async (call) => {
      const [tag, full] = call.params
      if (tag === 'latest') return call.forward([at, full])
      return Number(tag) > block ? { result: null } : call.forward()
    }),
    proxy.fault('eth_getBlockReceipts', async (call) =>
      Number(call.params[0]) > block ? { result: null } : call.forward(),
    ),
    proxy.fault('eth_getTransactionReceipt', async (call) => hide(await call.forward())),
    proxy.fault('eth_getLogs', async (call) => {
      const [filter] = call.params as [{ fromBlock: Hex; toBlock: Hex }]
      if (Number(filter.fromBlock) > block) return { result: [] }
      const toBlock = toHex(Math.min(block, Number(filter.toBlock)))
      return call.forward([{ ...filter, toBlock }])
    }),
    proxy.fault('eth_call', atBlock(1)),
    proxy.fault('eth_estimateGas', atBlock(1)),
    proxy.fault('eth_getTransactionCount', atBlock(1)),
    proxy.fault('eth_getBalance', atBlock(1)),
    proxy.fault('eth_getCode', atBlock(1)),
  ]
  return () => {
    for (const lift of lifts) lift()
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
