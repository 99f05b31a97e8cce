import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { answerLines, type Child, isChild, startChild } from './child.js'
import { type AttackWorld, type DearRequest, dear } from './dearest.js'

/** What is sent, from where, how often and for how long. */
interface AttackPlan {
  url: string
  world: AttackWorld
  /** The method and path of the route whose dearest request it is. */
  route: string
  /** Requests a second. */
  rate: number
  seconds: number
  /** The address that `X-Forwarded-For` names. */
  from: string
}

export interface AttackFigures {
  sent: number
  /** Answers by status; a stream counts once it has begun. */
  statuses: Readonly<Record<string, number>>
  /** Requests without an answer a second after the last one was sent. Their connections are cut then. */
  unanswered: number
  /** Bytes of the answers. */
  bytes: number
}

/** A process that sends the dearest request of a route on schedule, whether or not earlier ones were answered. */
export interface Attack {
  run(): Promise<AttackFigures>
  stop(): Promise<void>
}

/** Requests that are made ahead take up to so many bytes; after the last one the first is sent again. */
const MAX_MADE_BYTES = 64 * 2 ** 20
/** Requests that are under way at once. Further ones are not sent, so that an attack stays within the files of a process. */
const MAX_UNDER_WAY = 1_000
/** Requests are sent in groups, this often. */
const TICK_MS = 20
const GRACE_MS = 1_000
/** The service and the honest callers get the processor first, as if the attacker had a machine of their own. */
const NICENESS = 10

/** Starts the process and has it make its requests. */
export async function prepareAttack(plan: AttackPlan): Promise<Attack> {
  const child: Child = startChild(new URL(import.meta.url), { niceness: NICENESS })
  await child.ask(plan)
  return { run: () => child.ask('run'), stop: child.stop }
}

/** Makes as many requests as the attack sends, or as memory allows. */
export async function makeRequests(
  { world, route }: Pick<AttackPlan, 'world' | 'route'>,
  count: number,
): Promise<DearRequest[]> {
  const make = dear[route]
  if (make === undefined) throw new Error(`there is no request of ${route}`)
  const requests: DearRequest[] = []
  for (let bytes = 0; requests.length < count && bytes < MAX_MADE_BYTES; ) {
    const request = await make(world, requests.length)
    requests.push(request)
    bytes += request.body?.length ?? 0
  }
  return requests
}

/** Makes what ends every request that it is given to; there may be any number of them. */
export function cutter(): AbortController {
  const cut = new AbortController()
  setMaxListeners(0, cut.signal)
  return cut
}

/** Sends one request. Resolves with the status once the whole answer is read, or once a stream has begun. */
export async function sendDear(
  pool: Pool,
  { headers, ...request }: DearRequest,
  { from, signal, onBytes }: { from: string; signal: AbortSignal; onBytes(bytes: number): void },
): Promise<number> {
  const {
    statusCode,
    headers: answered,
    body,
  } = await pool.request({
    ...request,
    headers: { ...headers, 'x-forwarded-for': from },
    signal,
  })
  const reading = readAll(body, onBytes)
  if (String(answered['content-type']).startsWith('text/event-stream')) {
    // It never ends by itself, and whoever cuts it knows that they did.
    reading.catch(() => undefined)
    return statusCode
  }
  await reading
  return statusCode
}

async function readAll(body: AsyncIterable<Buffer>, onBytes: (bytes: number) => void) {
  for await (const chunk of body) onBytes(chunk.length)
}

async function run({ url, rate, seconds, from }: AttackPlan, requests: readonly DearRequest[]) {
  const pool = new Pool(url, { connections: MAX_UNDER_WAY, headersTimeout: 0, bodyTimeout: 0 })
  const cut = cutter()
  const statuses: Record<string, number> = {}
  const figures = { sent: 0, unanswered: 0, bytes: 0 }
  const onBytes = (bytes: number) => {
    figures.bytes += bytes
  }
  let underWay = 0

  async function sendNext(): Promise<void> {
    const request = requests[figures.sent++ % requests.length] as DearRequest
    underWay++
    try {
      const status = await sendDear(pool, request, { from, signal: cut.signal, onBytes })
      statuses[status] = (statuses[status] ?? 0) + 1
    } catch {
      figures.unanswered++
    }
    underWay--
  }

  const startedAt = performance.now()
  const total = rate * seconds
  const sending: Promise<void>[] = []
  while (figures.sent < total && performance.now() - startedAt < seconds * 1_000) {
    const due = Math.min(total, ((performance.now() - startedAt) / 1_000) * rate)
    while (figures.sent < due && underWay < MAX_UNDER_WAY) sending.push(sendNext())
    await sleep(TICK_MS)
  }
  await Promise.race([Promise.all(sending), sleep(GRACE_MS)])
  cut.abort()
  await Promise.all(sending)
  await pool.destroy()
  return { ...figures, statuses } satisfies AttackFigures
}

if (isChild(import.meta.url)) {
  let plan: AttackPlan | undefined
  let requests: DearRequest[] = []
  await answerLines(async (question: AttackPlan | 'run') => {
    if (question === 'run' && plan !== undefined) return run(plan, requests)
    plan = question as AttackPlan
    requests = await makeRequests(plan, plan.rate * plan.seconds)
    return requests.length
  })
}
