import { ArcusError } from 'arcus-client/calls'
import { uncalledMethods } from '../../../../x402/calls.js'
import { verdictName } from '../../../format/verdicts.js'
import { type EndpointDraft, emptyEndpoint, fillEndpoint, jsonText } from './draft.js'
import { isLive, readQuote } from './quote.js'
import type { Operation } from './read-openapi.js'
import { words } from './words.js'

export interface Outcome {
  endpoints: EndpointDraft[]
  payTo: string
  refused: { operation: Operation; why: string }[]
  /** How many were not checked, because somebody stopped. */
  left: number
}

export interface Progress {
  done: number
  total: number
  /** True while the service wants no more calls. */
  isWaiting: boolean
}

/** The service says how long to wait; these bound what a wrong answer could do. */
const MAX_WAIT_SECONDS = 120
const MAX_TRIES = 10

/**
 * Checks one operation after the other, because most files have one host. Waits as long as the service asks, and returns
 * what was found so far once `signal` is aborted.
 */
export async function checkAll(
  operations: readonly Operation[],
  { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: Progress) => void },
): Promise<Outcome> {
  const outcome: Outcome = { endpoints: [], payTo: '', refused: [], left: 0 }
  const total = operations.length
  for (const [done, operation] of operations.entries()) {
    const tell = (isWaiting: boolean) => onProgress({ done, total, isWaiting })
    tell(false)
    try {
      await checkOne(operation, outcome, { signal, tell })
    } catch (error) {
      if (signal.aborted) return { ...outcome, left: total - done }
      // After too many calls or without a network, the endpoints read so far are kept.
      outcome.refused.push({ operation, why: (error as Error).message })
    }
  }
  return outcome
}

interface Queue {
  signal: AbortSignal
  tell: (isWaiting: boolean) => void
}

async function checkOne(operation: Operation, outcome: Outcome, queue: Queue): Promise<void> {
  const draft = draftOf(operation)
  const { method, url, beside } = operation
  if (uncalledMethods.includes(method)) {
    outcome.endpoints.push(draft)
    return
  }
  const asked = { method, example: draft.example, beside, signal: queue.signal }
  const quote = await patiently(() => readQuote(url, asked), queue)
  if (!isLive(quote)) {
    outcome.refused.push({
      operation,
      why: words.problem.ofEndpoint(verdictName(quote.verdict), quote.message),
    })
    return
  }
  outcome.payTo ||= quote.listing.payTo
  outcome.endpoints.push(fillEndpoint(draft, quote))
}

/** Tries again after `Retry-After`, for as long as the service has one. */
async function patiently<Answer>(
  ask: () => Promise<Answer>,
  { signal, tell }: Queue,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      signal.throwIfAborted()
      return await ask()
    } catch (error) {
      const seconds = error instanceof ArcusError ? error.retryAfter : undefined
      if (signal.aborted || seconds === undefined || tries === MAX_TRIES) throw error
      tell(true)
      await pause(Math.min(Math.max(seconds, 1), MAX_WAIT_SECONDS) * 1_000, signal)
      tell(false)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function draftOf({ tags, example, inputSchema, ...rest }: Operation): EndpointDraft {
  const texts = { tags: tags.join(', '), example: jsonText(example) }
  return { ...emptyEndpoint(), ...rest, ...texts, inputSchema: jsonText(inputSchema) }
}
