import { WebSocket } from 'undici'

/** The first pause before a lost connection is opened again, and the longest; milliseconds. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A connection that says nothing for so long is opened anew. Arc makes a block in less than a second. */
const SILENCE_MS = 30_000

const subscription = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_subscribe',
  params: ['newHeads'],
})

/**
 * Nodes that say by WebSocket when there is a new block (`eth_subscribe`). Only its number is read. Whoever listens asks
 * another node for the block, so a node that lies costs a question.
 */
export class HeadPush {
  readonly #connections: readonly HeadConnection[]

  constructor(urls: readonly string[], onHead: (number: number) => void) {
    this.#connections = urls.map((url) => new HeadConnection(url, onHead))
  }

  start(): void {
    for (const connection of this.#connections) connection.open()
  }

  stop(): void {
    for (const connection of this.#connections) connection.close()
  }
}

class HeadConnection {
  readonly #url: string
  readonly #onHead: (number: number) => void
  #socket: WebSocket | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = FIRST_PAUSE_MS
  #isClosed = false

  constructor(url: string, onHead: (number: number) => void) {
    this.#url = url
    this.#onHead = onHead
  }

  open(): void {
    const socket = new WebSocket(this.#url)
    this.#socket = socket
    this.#watchSilence()
    socket.addEventListener('open', () => socket.send(subscription))
    socket.addEventListener('message', ({ data }) => {
      const number = readNumber(data)
      if (number === undefined || socket !== this.#socket) return
      this.#pauseMs = FIRST_PAUSE_MS
      this.#watchSilence()
      this.#onHead(number)
    })
    socket.addEventListener('close', () => this.#openAgain(socket))
    // A close follows each error.
    socket.addEventListener('error', () => {})
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  #watchSilence(): void {
    clearTimeout(this.#timer)
    const socket = this.#socket
    this.#timer = setTimeout(() => {
      socket?.close()
      if (socket !== undefined) this.#openAgain(socket)
    }, SILENCE_MS)
    this.#timer.unref()
  }

  #openAgain(socket: WebSocket): void {
    if (this.#isClosed || socket !== this.#socket) return
    this.#socket = undefined
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.open(), this.#pauseMs)
    this.#timer.unref()
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
  }
}

/** Reads the number of the block from a message; `undefined` from every other message. */
function readNumber(data: unknown): number | undefined {
  if (typeof data !== 'string') return undefined
  try {
    const { params } = JSON.parse(data) as { params?: { result?: { number?: unknown } } }
    const number = Number(params?.result?.number)
    return Number.isSafeInteger(number) ? number : undefined
  } catch {
    return undefined
  }
}
