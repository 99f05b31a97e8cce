import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { EvmCall } from './abi.js'
import type { Transaction } from './receipts.js'
import type { Rpc } from './rpc.js'

/** A transaction can make its trace as long as it likes: a hundred settlements take less than half of this. */
const MAX_TRACE_BYTES = 2 * 1024 * 1024
const TRACE_TIMEOUT_MS = 4_000
/**
 * Milliseconds until nodes are asked again for the trace of a transaction that they did not trace. The time doubles, because
 * anybody can make a transaction whose trace is large and useless.
 */
const ASK_AGAIN_MS = { first: 20_000, last: 1_800_000 }
const MAX_UNTRACED = 10_000
/** Some megabytes at most: only the calls that a reader wants are kept. */
const MAX_REMEMBERED = 200

/** A call within a transaction, as the `callTracer` of geth writes it; every node has the same form. */
interface Frame {
  type?: unknown
  to?: unknown
  input?: unknown
  error?: unknown
  calls?: unknown
}

/**
 * Reads the calls that a transaction made to a contract and that took effect, in the order in which they ran, from a trace
 * that is `credible`; `undefined` where no node gives one, or two nodes give different ones. Never rejects.
 */
export type ReadEffectiveCalls = (
  transaction: Transaction,
  to: Address,
  credible: (calls: readonly Hex[]) => boolean,
) => Promise<readonly Hex[] | undefined>

/** Makes the reader of traced calls; `now` is monotonic. Its answers are kept, because a trace costs a node much. */
export function createCallTraces(
  rpc: Rpc,
  now: () => number = () => performance.now(),
): ReadEffectiveCalls {
  const known = new LRUCache<string, Promise<readonly Hex[] | undefined>>({ max: MAX_REMEMBERED })
  const untraced = new LRUCache<string, { until: number; ms: number }>({ max: MAX_UNTRACED })

  async function read(
    { hash, to: target, input }: Transaction,
    to: Address,
    credible: (calls: readonly Hex[]) => boolean,
  ): Promise<readonly Hex[] | undefined> {
    const tracer = { tracer: 'callTracer', timeout: `${TRACE_TIMEOUT_MS}ms` }
    const answers = await rpc.everywhere('debug_traceTransaction', [hash, tracer], {
      timeoutMs: TRACE_TIMEOUT_MS,
      maxBytes: MAX_TRACE_BYTES,
    })
    const traces = answers.flatMap((answer) => {
      if (!answer.ok) return []
      const frame = answer.value as Frame | null
      const root = readCall(frame)
      // The trace is of another transaction, or there is none. That of a creation names the new contract.
      const isSame = frame?.type === 'CREATE' ? target === undefined : root?.to === target
      if (!isSame || root?.data !== input) return []
      const calls = effectiveCalls(frame as Frame, to)
      return credible(calls) ? [calls] : []
    })
    const [first] = traces
    return traces.every((calls) => calls.join() === first?.join()) ? first : undefined
  }

  return async (transaction, to, credible) => {
    const key = `${transaction.hash}/${to}`
    const before = untraced.get(key)
    if (before !== undefined && now() < before.until) return undefined
    const reading = known.get(key) ?? read(transaction, to, credible)
    known.set(key, reading)
    const calls = await reading
    if (calls !== undefined || known.get(key) !== reading) return calls
    known.delete(key)
    const ms =
      before === undefined ? ASK_AGAIN_MS.first : Math.min(before.ms * 2, ASK_AGAIN_MS.last)
    untraced.set(key, { until: now() + ms, ms })
    return undefined
  }
}

/** Returns the data of the calls to a contract that neither failed themselves nor ran within one that failed. */
function effectiveCalls(root: Frame, to: Address): Hex[] {
  const found: Hex[] = []
  const open: (Frame | null)[] = [root]
  for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
    if (frame === null || frame.error != null) continue
    const call = readCall(frame)
    // Code that another contract borrows (`DELEGATECALL`) does not run as the contract.
    if (call?.to === to && frame.type === 'CALL') found.push(call.data)
    if (Array.isArray(frame.calls)) open.push(...(frame.calls as Frame[]).slice().reverse())
  }
  return found
}

function readCall(frame: Frame | null): EvmCall | undefined {
  if (typeof frame?.to !== 'string' || typeof frame.input !== 'string') return undefined
  return { to: frame.to.toLowerCase() as Address, data: frame.input.toLowerCase() as Hex }
}
