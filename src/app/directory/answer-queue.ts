import { hash } from 'node:crypto'
import { keptResourceOf, type PaymentAnswer, paidResourceOf } from '@arcus/protocol/x402/payment'
import { digestQuery, readResource } from '../../directory/activity/attribution.js'
import type { HandedAnswer } from '../../directory/activity/recorder.js'
import type { Outbox } from '../stores/outbox.js'
import { writeAnswers } from './handed-over.js'

export interface AnswerQueueOptions {
  outbox: Pick<Outbox, 'append'>
  /** Nothing but payments is kept while the disk is nearly full. */
  isDiskLow: () => boolean
  log: { warn(details: object, message: string): void }
}

/** Answers wait this long for others, because one row for many is cheaper. */
const COLLECTED_MS = 250
/** Answers of one row. */
const SLICE = 500
/** Past this the newest answers are dropped and counted. The payments themselves are in the journal. */
const MAX_WAITING = 5_000

/** The answers of the facilitator on their way to the directory: they are collected, and written as rows. */
export class AnswerQueue {
  readonly #options: AnswerQueueOptions
  readonly #waiting: HandedAnswer[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #dropped = 0

  constructor(options: AnswerQueueOptions) {
    this.#options = options
  }

  /** Takes in an answer; as cheap as a push, and never throws. */
  add(answer: PaymentAnswer): void {
    if (this.#options.isDiskLow() || this.#waiting.length >= MAX_WAITING) {
      this.#dropped++
      return
    }
    this.#waiting.push(toHanded(answer))
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#writing = this.#writing.then(() => this.#write())
    }, COLLECTED_MS)
  }

  /** Counts the answers that were dropped: they came too fast, or could not be written. */
  dropped(): number {
    return this.#dropped
  }

  /** Writes the waiting answers; the last call. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writing
    await this.#write()
  }

  async #write(): Promise<void> {
    const { outbox, log } = this.#options
    while (this.#waiting.length > 0) {
      const slice = this.#waiting.splice(0, SLICE)
      const isKept = await outbox.append('answers', writeAnswers(slice)).catch((err) => {
        log.warn({ err }, 'answers could not be handed over to the directory')
        return false
      })
      if (!isKept) this.#dropped += slice.length
    }
  }
}

/** Returns an answer without what a row may not keep: the query of the paid URL, and a signature. */
export function toHanded(answer: PaymentAnswer): HandedAnswer {
  const { resourceUrl, toolName, proof, ...payment } = answer.payment
  const url = readResource(resourceUrl)
  return {
    ...answer,
    payment: {
      ...payment,
      ...keptResourceOf(paidResourceOf({ resourceUrl, toolName })),
      ...(proof !== undefined && { proof: hash('sha256', proof, 'base64url') }),
    },
    query: url === undefined ? [] : digestQuery(url),
  }
}
