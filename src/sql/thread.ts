import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'

interface ThreadOptions {
  maxHeapMb: number
  /** The part of the heap for what is new. A small one keeps less memory and collects more often; V8's own unless given. */
  maxYoungMb?: number
  /** The script's `workerData`. */
  data?: unknown
}

/** Starts a thread of this process from a script, given as the URL of its source or of its build. */
export function startThread(script: URL, { maxHeapMb, maxYoungMb, data }: ThreadOptions): Worker {
  const resourceLimits = {
    maxOldGenerationSizeMb: maxHeapMb,
    ...(maxYoungMb !== undefined && { maxYoungGenerationSizeMb: maxYoungMb }),
  }
  const options = { resourceLimits, workerData: data }
  if (!script.href.endsWith('.ts')) return new Worker(script, options)
  // A thread that runs from its sources needs the loader that reads them, which Node does not pass on. The path is that
  // of `tsx/esm/api`; its name alone would be resolved from the working directory here.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/package.json'))
  const loader = new URL('dist/esm/api/index.mjs', tsx)
  const code = `import('${loader.href}').then(({ register }) => { register(); return import('${script.href}') })`
  return new Worker(code, { ...options, eval: true })
}

/** The pause before a thread that ended is started again: twice as long each time, if it ends soon after its start. */
const FIRST_RESTART_MS = 1_000
const LAST_RESTART_MS = 30_000
/** A thread that ran for this long had started well. */
const STARTED_WELL_MS = 60_000
/** The longest time a thread may take to stop. */
const STOP_MS = 2_000

/** A thread that is started again whenever it ends. */
interface SupervisedThread<Question> {
  start(): void
  /** Sends a message; returns `false` while there is no thread. */
  post(question: Question | 'stop'): boolean
  /** Keeps the process alive while an answer is awaited. */
  keepAlive(isAwaited: boolean): void
  /** Ends the thread at once; another one follows. */
  end(): void
  /** Sends `stop`, waits for the end, and forces it after two seconds, or after the time given. */
  stop(patienceMs?: number): Promise<void>
}

interface SuperviseOptions<Message> extends ThreadOptions {
  onMessage: (message: Message) => void
  /** Receives the error that ends a thread. */
  onFault: (error: unknown) => void
  /** Called whenever a thread starts. */
  onStart?: () => void
  /** Called when a thread has ended, before the next one starts. */
  onEnd: () => void
}

/** Keeps one thread of a script running. It keeps the process alive only while somebody asks for that. */
export function superviseThread<Question, Message>(
  script: URL,
  { onMessage, onFault, onStart, onEnd, ...options }: SuperviseOptions<Message>,
): SupervisedThread<Question> {
  let thread: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let pauseMs = FIRST_RESTART_MS
  let isStopped = false

  function start(): void {
    const started = startThread(script, options)
    const startedAt = performance.now()
    thread = started
    onStart?.()
    started.on('message', onMessage)
    started.on('error', onFault)
    started.once('exit', () => {
      thread = undefined
      onEnd()
      if (isStopped) return
      if (performance.now() - startedAt >= STARTED_WELL_MS) pauseMs = FIRST_RESTART_MS
      restart = setTimeout(start, pauseMs).unref()
      pauseMs = Math.min(pauseMs * 2, LAST_RESTART_MS)
    })
    // This comes last, because adding a listener would undo it.
    started.unref()
  }

  function post(question: Question | 'stop'): boolean {
    thread?.postMessage(question)
    return thread !== undefined
  }

  return {
    start,
    post,
    keepAlive: (isAwaited) => (isAwaited ? thread?.ref() : thread?.unref()),
    end: () => void thread?.terminate(),
    async stop(patienceMs = STOP_MS) {
      isStopped = true
      clearTimeout(restart)
      const ending = thread
      if (ending === undefined) return
      const ended = new Promise<void>((resolve) => ending.once('exit', () => resolve()))
      post('stop')
      const timer = setTimeout(() => void ending.terminate(), patienceMs)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Returns the script next to a module: `.ts` when run from the sources, else `.js`. */
export function scriptBeside(moduleUrl: string, name: string): URL {
  return new URL(`./${name}.${moduleUrl.endsWith('.ts') ? 'ts' : 'js'}`, moduleUrl)
}
