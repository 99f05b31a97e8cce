import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { httpFault } from './errors.js'
import { leavingOf } from './leaving.js'

/** The time that a browser waits before it connects again. */
const RETRY_MS = 5_000
/** A page that receives nothing for 20 s says so, and load balancers close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000
/** The share of the connections above which the largest group gives up one for each newcomer. */
const CROWDED = 0.8

interface EventStreamsOptions<Member extends string> {
  /** Open streams in all. */
  inAll: number
  /** Bounds on streams with the same value of a member; `label` is the end of `at most 8 pages …`. */
  bounds: readonly { member: Member; most: number; label: string }[]
  /**
   * Members of a follower, the widest first. Once four fifths of the connections are in use, a newcomer has one taken from the
   * largest group of them, and there from the largest of the next.
   */
  crowdedBy?: readonly Member[]
  /** Completes `may … at once`. */
  verb: string
}

/** An open stream, or the one that shall be opened, and where it comes from. */
type StreamPlace<Member extends string> = [ServerResponse | undefined, Record<Member, string>]

interface Follower<Member extends string> {
  /** Its values of the members that are bounded. */
  from: Record<Member, string>
  /** Begins to send, and returns how to stop. */
  follow(send: (event: string, data: unknown) => void): () => void
}

/**
 * Creates the streams of server-sent events of a route. Each beats, and all end before the server closes. The function it
 * returns opens one, or throws a 503 where all connections are in use.
 */
export function createEventStreams<Member extends string>(
  app: FastifyInstance,
  options: EventStreamsOptions<Member>,
) {
  const open = new Map<ServerResponse, Record<Member, string>>()
  // A stream never ends by itself: closing the server would wait for it.
  const leaving = leavingOf(app)
  leaving.addEventListener('abort', () => {
    for (const response of open.keys()) response.end()
  })

  /** Ends the oldest stream of the largest group, which counts the newcomer too, unless each group has one alone. */
  function makeRoom(newcomer: Record<Member, string>): void {
    const { crowdedBy, inAll } = options
    if (crowdedBy === undefined || open.size < inAll * CROWDED) return
    let group: StreamPlace<Member>[] = [...open, [undefined, newcomer]]
    for (const member of crowdedBy) {
      group = largestGroup(group, ([, from]) => from[member])
      if (group.length === 1) return
    }
    const [response] = group[0] ?? []
    if (response === undefined) return
    open.delete(response)
    if (response.writableNeedDrain) response.destroy()
    else response.end()
  }

  return (reply: FastifyReply, { from, follow }: Follower<Member>): void => {
    // Node reports the end of a connection once, and a reader who has left uses no connection.
    if (reply.raw.destroyed) return void reply.hijack()
    refuseCrowd([...open.values()], from, options)
    makeRoom(from)
    const response = openEventStream(reply)
    open.set(response, from)
    if (leaving.aborted) response.end()
    const send = (event: string, data: unknown) => {
      // A reader who is slower than the news is cut off and connects again, so that nothing piles up.
      if (response.writableNeedDrain) response.destroy()
      else if (!response.writableEnded)
        response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    }
    const stop = follow(send)
    const heartbeat = setInterval(() => send('beat', {}), HEARTBEAT_MS)
    response.once('close', () => {
      clearInterval(heartbeat)
      stop()
      open.delete(response)
    })
  }
}

/** Begins a stream of server-sent events. The reply is out of Fastify's hands then. */
export function openEventStream(reply: FastifyReply): ServerResponse {
  reply.hijack()
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    // A kept connection would keep the server from closing.
    connection: 'close',
  })
  response.write(`retry: ${RETRY_MS}\n\n`)
  return response
}

/** Returns the items that share the most frequent key, in their order. */
function largestGroup<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a), [])
}

function refuseCrowd<Member extends string>(
  open: readonly Record<Member, string>[],
  newcomer: Record<Member, string>,
  { inAll, bounds, verb }: EventStreamsOptions<Member>,
): void {
  const full = bounds.find(
    ({ member, most }) => open.filter((one) => one[member] === newcomer[member]).length >= most,
  )
  if (full === undefined && open.length < inAll) return
  const what = full === undefined ? `${inAll} pages` : `${full.most} pages ${full.label}`
  throw httpFault('busy', `At most ${what} may ${verb} at once.`, 5)
}
