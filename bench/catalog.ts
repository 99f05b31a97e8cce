import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'

/**
 * `GET /api/merchants` over 1,000 and 10,000 merchants of five endpoints: from the start of the process, warm, after a
 * save, unchanged, and ten readers at once. A turn is how long the server's event loop did nothing else.
 */
const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 10_000]
const ENDPOINTS_EACH = 5
const ROUNDS = 15

const agent = new Agent({ keepAlive: true })
for (const size of sizes) await measure(size)

async function measure(merchants: number) {
  const file = new URL('catalog-server.ts', import.meta.url).pathname
  const server = spawn(
    process.execPath,
    ['--import', 'tsx', file, String(merchants), String(ENDPOINTS_EACH)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const [port] = (await once(createInterface(server.stdout), 'line')) as [string]
  const get = (path: string, headers = {}) => ask(Number(port), 'GET', path, headers)
  const turns = async () => JSON.parse((await get('/turns')).text) as Turns
  await turns()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  line(`\n${merchants} merchants, ${merchants * ENDPOINTS_EACH} endpoints`)
  report('at rest for 1 s', [], await turns())

  const cold = await get('/api/merchants')
  report('first answer', [cold], await turns())
  const warm = await repeat(ROUNDS, () => get('/api/merchants'))
  report('warm', warm, await turns())
  const saved = await repeat(ROUNDS, async () => {
    await ask(Number(port), 'POST', '/save')
    return get('/api/merchants')
  })
  report('after a save', saved, await turns())
  const known = { 'if-none-match': saved.at(-1)?.etag ?? '' }
  const unchanged = await repeat(ROUNDS * 10, () => get('/api/merchants', known))
  report('unchanged (304)', unchanged, await turns())
  const crowd = await Promise.all(Array.from({ length: 10 }, () => get('/api/merchants')))
  report('ten at once', crowd, await turns())
  const one = `/api/merchants/merchant-${String(merchants >> 1).padStart(6, '0')}`
  report('openapi.json', await repeat(ROUNDS * 10, () => get(`${one}/openapi.json`)), await turns())
  server.stdin.end()
  await once(server, 'exit')
}

interface Answer {
  status: number
  etag: string
  firstByteMs: number
  totalMs: number
  bytes: number
  text: string
}

interface Turns {
  worstMs: number | null
  over5Ms: number
  rssMb: number
}

async function ask(port: number, method: string, path: string, headers = {}): Promise<Answer> {
  const startedAt = performance.now()
  const call = request({ host: '127.0.0.1', port, method, path, headers, agent }).end()
  const [response] = await once(call, 'response')
  const firstByteMs = performance.now() - startedAt
  let bytes = 0
  let text = ''
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes < 10_000) text += chunk
  }
  const totalMs = performance.now() - startedAt
  const { statusCode: status, headers: said } = response
  return { status, etag: String(said.etag), firstByteMs, totalMs, bytes, text }
}

async function repeat(count: number, work: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let i = 0; i < count; i++) answers.push(await work())
  return answers
}

function report(what: string, answers: Answer[], turns: Turns): void {
  const of = (pick: (answer: Answer) => number) => {
    const sorted = answers.map(pick).sort((a, b) => a - b)
    const at = (part: number) => (sorted[Math.ceil(sorted.length * part) - 1] ?? 0).toFixed(1)
    return `${at(0.5)} (p99 ${at(0.99)})`
  }
  const [first] = answers
  const served =
    first === undefined
      ? ''
      : ` ${first.status}, ${(first.bytes / 2 ** 20).toFixed(2)} MiB, first byte ${of((it) => it.firstByteMs)} ms, all ${of((it) => it.totalMs)} ms;`
  line(
    `${what.padEnd(16)}${served} worst turn ${(turns.worstMs ?? 0).toFixed(1)} ms, ${turns.over5Ms} over 5 ms; RSS ${turns.rssMb.toFixed(0)} MB`,
  )
}

function line(text: string): void {
  process.stdout.write(`${text}\n`)
}
