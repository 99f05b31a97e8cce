import { Pool } from 'undici'
import { pause } from './behaviours.js'
import { network, permit2Scheme, type SignedPayment } from './payments.js'

export interface SettleBody {
  success: boolean
  transaction: string
  errorReason?: string
  errorMessage?: string
}

/** One settle and what came of it; `body` is undefined when the connection broke. Times in Unix milliseconds. */
export interface Answer {
  payment: SignedPayment
  askedAt: number
  answeredAt: number
  status?: number
  body?: SettleBody
}

export interface PaymentView {
  state: 'queued' | 'submitted' | 'confirmed' | 'failed'
  transaction: string | null
  delivered: boolean
  errorReason: string | null
}

/** A merchant that settles and remembers every answer. */
export interface Client {
  answers: Answer[]
  settle(payment: SignedPayment): Promise<Answer>
  /** Tells whether verify found the payment valid; false also when the connection broke. */
  verify(payment: SignedPayment): Promise<boolean>
  /** Asks, and closes the connection, after 50 ms unless said, before an answer can come. */
  settleAndHangUp(payment: SignedPayment, afterMs?: number): Promise<void>
  settleAll(payments: readonly SignedPayment[]): Promise<Answer[]>
  /** Settles again, as a merchant would, until each payment had its success or the time is over. */
  settleUntilTold(payments: readonly SignedPayment[], timeoutMs?: number): Promise<void>
  findPayment(payment: SignedPayment): Promise<PaymentView | undefined>
  close(): Promise<void>
}

const headers = { 'content-type': 'application/json' }
const CONNECTIONS = 256
const RETRY_MS = 150
const UNREACHABLE_RETRY_MS = 500
const HANG_UP_MS = 50

/** Sends each request to any of several addresses, as a load balancer does. */
export function createClient(...urls: [string, ...string[]]): Client {
  const pools = urls.map(
    (url) => new Pool(url, { connections: CONNECTIONS, headersTimeout: 60_000 }),
  )
  const anyPool = () => pools[Math.floor(Math.random() * pools.length)] as Pool
  const answers: Answer[] = []
  const told = new Set<SignedPayment>()

  async function settle(payment: SignedPayment): Promise<Answer> {
    const answer: Answer = { payment, askedAt: Date.now(), answeredAt: 0 }
    try {
      const response = await anyPool().request({
        method: 'POST',
        path: '/settle',
        headers,
        body: payment.body,
      })
      const body = (await response.body.json()) as SettleBody
      Object.assign(answer, { status: response.statusCode, body })
    } catch {
      // No answer: nothing was told.
    }
    answer.answeredAt = Date.now()
    answers.push(answer)
    if (answer.body?.success === true) told.add(payment)
    return answer
  }

  async function settleOneUntilTold(payment: SignedPayment, deadline: number): Promise<void> {
    while (!told.has(payment) && Date.now() < deadline) {
      const { body } = await settle(payment)
      // Told used without ever being told paid: asking on would change nothing.
      if (body?.errorReason === usedCode) return
      if (body?.success !== true) await pause(body === undefined ? UNREACHABLE_RETRY_MS : RETRY_MS)
    }
  }

  return {
    answers,
    settle,
    async verify({ body }) {
      try {
        const options = { method: 'POST', path: '/verify', headers, body } as const
        const response = await anyPool().request(options)
        return ((await response.body.json()) as { isValid: boolean }).isValid
      } catch {
        return false
      }
    },
    async settleAndHangUp({ body }, afterMs = HANG_UP_MS) {
      const options = { method: 'POST', path: '/settle', headers, body } as const
      const signal = AbortSignal.timeout(afterMs)
      await anyPool()
        .request({ ...options, signal })
        .catch(() => {})
    },
    settleAll: (payments) => Promise.all(payments.map(settle)),
    async settleUntilTold(payments, timeoutMs = 10_000) {
      const deadline = Date.now() + timeoutMs
      await Promise.all(payments.map((payment) => settleOneUntilTold(payment, deadline)))
    },
    async findPayment({ payer, nonce }) {
      const path = `/payments/${network}/${payer}/${nonce}`
      let failure: unknown
      const order = [...pools].sort(() => Math.random() - 0.5)
      // Once more: a connection that nobody used for a minute may be closed as it is taken.
      for (const pool of [...order, ...order]) {
        try {
          const { statusCode, body } = await pool.request({ method: 'GET', path })
          const view = (await body.json()) as PaymentView
          if (statusCode === 404) return undefined
          if (statusCode === 200) return view
          failure = new Error(`GET /payments answered ${statusCode}`)
        } catch (error) {
          // A balancer would ask the next one.
          failure = error
        }
      }
      throw failure
    },
    async close() {
      for (const pool of pools) await pool.destroy()
    },
  }
}

export const usedCode =
  permit2Scheme === undefined ? 'invalid_exact_evm_nonce_already_used' : 'permit2_invalid_nonce'
export const pendingCode = 'settlement_pending'
