import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { symbols } from 'pino'
import { Pool } from 'undici'
import type { Address } from 'viem'
import { inTime } from '../../async/in-time.js'
import type { FindPaidMerchant } from '../../facilitator/lookup/payments.js'
import { scriptBeside, superviseThread } from '../../sql/thread.js'
import type {
  DirectoryFigures,
  DirectoryThreadData,
  FacilitatorCalls,
  FacilitatorReply,
  FromDirectory,
} from './messages.js'
import { answerQuestion } from './questions.js'

/** The way from the main thread to the directory's. */
export interface DirectoryLink {
  /** The address at which the directory listens. */
  socketPath: string
  /** Resolves when the directory answers for the first time. Rejects if it cannot start, and trying again does not help. */
  ready: Promise<void>
  isUp(): boolean
  /** Counts the restarts of the thread. */
  restarts(): number
  /** The figures of its last beat; `undefined` before the first. */
  figures(): DirectoryFigures | undefined
  /** Asks the directory to end the answers that never end by themselves. It serves on until `stop`. */
  leave(): void
  stop(): Promise<void>
}

interface DirectoryLinkOptions {
  data: Omit<DirectoryThreadData, 'socketPath' | 'hasFacilitator'>
  /** Answers the questions of the thread; absent where the facilitator is on another machine. */
  calls: FacilitatorCalls | undefined
  log: Logger
  /** The script next to this module by default. For tests. */
  script?: URL
}

/** The catalog is on a thread of its own, so this holds lists and answers under way. */
const MAX_HEAP_MB = 1_024
/** With V8's own measure the process keeps some 20 MB more at rest (measured 2026-11-28). */
const MAX_YOUNG_MB = 8
/** A thread that is silent for this time does not answer callers either. */
const SILENCE_MS = 30_000
const CHECK_MS = 1_000
/** The time that the directory has to answer its open requests and to close. */
const STOP_MS = 10_000

/**
 * Starts the directory on a thread of its own, and starts it again whenever it ends, runs out of memory or falls silent.
 * Payments know nothing of that.
 */
export function startDirectoryThread(options: DirectoryLinkOptions): DirectoryLink {
  const { data, calls, log } = options
  const script = options.script ?? scriptBeside(import.meta.url, 'directory-thread')
  const place = openSocketPlace()
  let isUp = false
  let isLeaving = false
  let starts = 0
  let heardAt = performance.now()
  let figures: DirectoryFigures | undefined
  let settleReady: { resolve(): void; reject(error: Error): void } | undefined
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject }
  })
  // A start that nobody waits for any more may fail.
  ready.catch(() => {})

  const thread = superviseThread<FacilitatorReply | 'leave', FromDirectory>(script, {
    maxHeapMb: MAX_HEAP_MB,
    maxYoungMb: MAX_YOUNG_MB,
    data: { ...data, socketPath: place.path, hasFacilitator: calls !== undefined },
    onMessage: hear,
    onFault: (err) => log.error({ err }, 'the directory failed; it starts again'),
    onStart() {
      starts++
      heardAt = performance.now()
    },
    onEnd() {
      isUp = false
      place.clear()
      if (!isLeaving) log.warn('the thread of the directory ended; payments go on')
    },
  })

  function hear(message: FromDirectory): void {
    heardAt = performance.now()
    if (message.kind === 'log') writeLine(log, message.line)
    else if (message.kind === 'beat') figures = message.figures
    else if (message.kind === 'question') {
      if (calls !== undefined) void answerQuestion(message, calls).then(thread.post)
    } else if (message.kind === 'ready') {
      isUp = true
      settleReady?.resolve()
    } else settleReady?.reject(new DirectoryStartError(message.message))
  }

  const watch = setInterval(() => {
    if (!isUp || isLeaving || performance.now() - heardAt < SILENCE_MS) return
    log.error({ silentMs: SILENCE_MS }, 'the directory does not answer; it is started again')
    isUp = false
    thread.end()
  }, CHECK_MS)
  watch.unref()
  thread.start()
  return {
    socketPath: place.path,
    ready,
    isUp: () => isUp,
    restarts: () => Math.max(0, starts - 1),
    figures: () => figures,
    leave() {
      isLeaving = true
      thread.post('leave')
    },
    async stop() {
      isLeaving = true
      clearInterval(watch)
      await thread.stop(STOP_MS)
      place.remove()
    },
  }
}

/** The directory cannot start with these settings. */
export class DirectoryStartError extends Error {
  override readonly name = 'DirectoryStartError'
}

/** Makes the folder of the socket, which only this user can reach: a program that connects to it may name any caller. */
function openSocketPlace() {
  if (process.platform === 'win32') {
    const path = `\\\\.\\pipe\\arcus-${process.pid}-${Math.random().toString(36).slice(2)}`
    return { path, clear() {}, remove() {} }
  }
  const folder = mkdtempSync(join(tmpdir(), 'arcus-'))
  const path = join(folder, 'directory.sock')
  return {
    path,
    /** Removes the socket that a thread left when it ended. */
    clear: () => rmSync(path, { force: true }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Writes a line of the other thread where the lines of this one go. */
function writeLine(log: Logger, line: string): void {
  const { [symbols.streamSym]: stream } = log as Logger & {
    [symbols.streamSym]: { write(line: string): void }
  }
  stream.write(line)
}

/** A merchant is found within this time, or a receipt is answered without one; the second is for another machine. */
const MERCHANT_MS = { near: 250, far: 1_000 }
const MERCHANT_KEPT_MS = 60_000
const MAX_MERCHANTS = 5_000

/**
 * Makes the search for the merchant of an address, which asks the directory at its address and keeps the answers. While
 * the directory is away there is none.
 */
export function createMerchantFinder(place: { socketPath: string } | { url: string }): {
  find: FindPaidMerchant
  close(): Promise<void>
} {
  const [origin, patienceMs] =
    'url' in place
      ? [new URL(place.url).origin, MERCHANT_MS.far]
      : ['http://localhost', MERCHANT_MS.near]
  const pool = new Pool(origin, {
    connections: 4,
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
    ...('socketPath' in place && { socketPath: place.socketPath }),
  })
  const kept = new LRUCache<Address, { found: { id: string; name: string } | undefined }>({
    max: MAX_MERCHANTS,
    ttl: MERCHANT_KEPT_MS,
  })

  async function ask(payTo: Address): Promise<{ id: string; name: string } | undefined> {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: `/api/payees/${payTo}`,
    })
    const answer = await body.json()
    if (statusCode !== 200) return undefined
    const { merchant } = answer as { merchant: { id: string; name: string } | null }
    const found = merchant ?? undefined
    kept.set(payTo, { found })
    return found
  }

  return {
    async find(payTo) {
      const known = kept.get(payTo)
      if (known !== undefined) return known.found
      const asked = ask(payTo).catch(() => undefined)
      return inTime(asked, patienceMs, () => undefined)
    },
    close: () => pool.destroy(),
  }
}
