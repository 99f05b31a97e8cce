import type { Server } from 'node:http'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { surviveRejections } from '../lifecycle.js'
import { createLogger } from '../logger.js'
import { composeDirectory, type DirectoryHalf } from './compose.js'
import type { DirectoryThreadData, FacilitatorReply, FromDirectory } from './messages.js'
import { askByMessage, askOverHttp } from './questions.js'

/** The thread of `startDirectoryThread`: the directory with its own server and its own connections. */
const { socketPath, hasFacilitator, ...place } = workerData as DirectoryThreadData

const BEAT_MS = 1_000
/** Where both threads want a processor, payments have it. */
const NICENESS = 5
/** Errors after which another start finds what this one found. */
const finalErrors = new Set(['ConfigError', 'FacilitatorSettingsError', 'TokenMismatchError'])

const log = createLogger({
  level: place.config.logLevel,
  destination: { write: (line) => say({ kind: 'log', line }) },
})
const byMessage = askByMessage(say)
let half: DirectoryHalf | undefined
let isStopping = false

// On Linux this is the priority of the calling thread alone; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(NICENESS)
surviveRejections(log)
parentPort?.on('message', (message: FacilitatorReply | 'leave' | 'stop') => {
  if (message === 'leave') half?.leave()
  else if (message === 'stop') stop().catch((err) => log.error({ err }, 'not closed in order'))
  else byMessage.hear(message)
})
await start()

async function start(): Promise<void> {
  try {
    half = await composeDirectory(place, {
      ask: hasFacilitator ? byMessage : askOverHttp(place.config.baseUrl),
      log,
    })
    if (isStopping) return await stop()
    readByJavaScript(half.app.server)
    await half.app.listen({ path: socketPath })
    await half.start()
  } catch (error) {
    const { name, message } = error as Error
    if (finalErrors.has(name)) say({ kind: 'failed', name, message })
    throw error
  }
  say({ kind: 'ready' })
  const timer = setInterval(() => void beat(), BEAT_MS)
  timer.unref()
}

/**
 * Makes the server read its connections by JavaScript. Node lets its HTTP parser read them natively otherwise, and a thread
 * that is terminated while one has bytes to read then ends the whole process ("ToLocalChecked Empty MaybeLocal", seen with
 * Node 20 on 2026-11-28). A listener of our own for what arrives takes the connection back.
 */
function readByJavaScript(server: Server): void {
  server.on('connection', (socket) => socket.on('data', () => {}))
}

async function beat(): Promise<void> {
  if (half !== undefined) say({ kind: 'beat', figures: await half.figures() })
}

async function stop(): Promise<void> {
  isStopping = true
  await half?.close()
  parentPort?.close()
}

function say(message: FromDirectory): void {
  parentPort?.postMessage(message)
}
