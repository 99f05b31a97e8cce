import { toFacilitatorClient } from '@arcus/merchant/facilitator'
import type { FacilitatorStatus } from '@arcus/protocol/answers/service'
import {
  SettleError,
  type SettleResponse,
  type SupportedResponse,
  VerifyError,
  type VerifyResponse,
} from '@x402/core/types'
import { version } from '../../http/version.js'
import type {
  AskFacilitator,
  FacilitatorCalls,
  FacilitatorQuestion,
  FacilitatorReply,
} from './messages.js'

/** Makes the questions to a facilitator on another machine, at its public address. */
export function askOverHttp(baseUrl: string): AskFacilitator {
  return {
    client(started) {
      // A settle whose connection broke is asked once more: behind a balancer another facilitator answers.
      const client = toFacilitatorClient(baseUrl)
      return {
        async verify(...args) {
          await started
          return client.verify(...args)
        },
        async settle(...args) {
          await started
          return client.settle(...args)
        },
        getSupported: () => client.getSupported(),
      }
    },
    async readStatus() {
      try {
        const signal = AbortSignal.timeout(STATUS_TIMEOUT_MS)
        const response = await fetch(`${baseUrl}/ready/details`, { signal })
        if (response.ok) return (await response.json()) as FacilitatorStatus
        await response.body?.cancel()
        return statusOfNone(`a balancer or facilitator answers ${response.status} at BASE_URL`)
      } catch {
        return statusOfNone('no facilitator answers at BASE_URL')
      }
    },
  }
}

const STATUS_TIMEOUT_MS = 3_000

/** Returns the status where no facilitator says its own. */
function statusOfNone(detail: string): FacilitatorStatus {
  const now = Date.now()
  return {
    status: 'not_ready',
    version,
    now: new Date(now).toISOString(),
    startedAt: new Date(now - process.uptime() * 1_000).toISOString(),
    checks: [{ name: 'facilitator', ok: false, detail }],
    networks: [],
  }
}

/** The facilitator answered with an error, which has the status and the body of its answer. */
class AnsweredError extends Error {
  override readonly name = 'AnsweredError'
  readonly status: number | undefined
  readonly body: unknown

  constructor({ message, status, body }: { message: string; status?: number; body?: unknown }) {
    super(message)
    this.status = status
    this.body = body
  }
}

/** Makes the questions to the facilitator on the main thread of this process. */
export function askByMessage(post: (question: FacilitatorQuestion) => void): AskFacilitator & {
  /** Takes in the answer to a question. */
  hear(answer: FacilitatorReply): void
} {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let lastId = 0

  function ask(name: keyof FacilitatorCalls, ...args: readonly unknown[]): Promise<unknown> {
    const id = ++lastId
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      post({ kind: 'question', id, name, args })
    })
  }

  return {
    client: (started) => ({
      async verify(payload, requirements) {
        await started
        const asked = ask('verify', plain(payload), plain(requirements))
        return (await asked.catch((error) => {
          if (error instanceof AnsweredError && error.status !== undefined) {
            throw new VerifyError(error.status, error.body as VerifyResponse)
          }
          throw error
        })) as VerifyResponse
      },
      async settle(payload, requirements) {
        await started
        const asked = ask('settle', plain(payload), plain(requirements))
        return (await asked.catch((error) => {
          if (error instanceof AnsweredError && error.status !== undefined) {
            throw new SettleError(error.status, error.body as SettleResponse)
          }
          throw error
        })) as SettleResponse
      },
      getSupported: async () => (await ask('supported')) as SupportedResponse,
    }),
    readStatus: async () => (await ask('status')) as FacilitatorStatus,
    hear(answer) {
      const asker = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('value' in answer) asker?.resolve(answer.value)
      else asker?.reject(new AnsweredError(answer))
    },
  }
}

/** Returns what JSON has of a value, because a message cannot hold functions. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? it.toString() : it)))
}

/** Answers a question of the directory. */
export async function answerQuestion(
  { id, name, args }: FacilitatorQuestion,
  calls: FacilitatorCalls,
): Promise<FacilitatorReply> {
  try {
    const call = calls[name] as (...args: readonly unknown[]) => Promise<unknown>
    return { kind: 'answer', id, value: await call(...args) }
  } catch (error) {
    return { kind: 'answer', id, ...describe(error) }
  }
}

function describe(error: unknown): { message: string; status?: number; body?: unknown } {
  if (error instanceof VerifyError) {
    const { message, statusCode: status, invalidReason, invalidMessage, payer } = error
    return { message, status, body: { isValid: false, invalidReason, invalidMessage, payer } }
  }
  if (error instanceof SettleError) {
    const { message, statusCode: status, errorReason, errorMessage, payer } = error
    const { transaction, network } = error
    const body = { success: false, errorReason, errorMessage, payer, transaction, network }
    return { message, status, body }
  }
  return { message: error instanceof Error ? error.message : String(error) }
}
