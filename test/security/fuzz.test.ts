import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startService, type TestService } from '../openapi/a-service.js'
import { createAnswerCheck, operationsOf } from '../openapi/described.js'
import { arbitraryOf } from './arbitrary-of.js'

let service: TestService

beforeAll(async () => {
  // No private address may be called: what the fuzzer finds on this machine is none of its business.
  service = await startService({ PROBE_ALLOW_PRIVATE_HOSTS: 'false', SETTLE_WAIT_SECONDS: '1' })
})
afterAll(() => service.close())

const RUNS = Number(process.env.FUZZ_RUNS ?? 12)
const LANES = 4
const MAX_GROWTH_BYTES = 96 * 1024 * 1024

it('answers every request, valid or not, as its description says, and never with a 5xx', async () => {
  const judge = createAnswerCheck(service.document)
  const { schemas } = service.document.components
  const before = heapBytes()
  let asked = 0
  // The stream is for everybody and never ends.
  const waiting = operationsOf(service.document).filter(
    ({ operation }) => operation.operationId !== 'followSettlements',
  )
  async function fuzzNext(): Promise<void> {
    const described = waiting.shift()
    if (described === undefined) return
    const { method, path, operation } = described
    const media = operation.requestBody?.content['application/json']
    const request = fc.record({
      parameters: fc.record(
        Object.fromEntries(
          operation.parameters
            .filter((parameter) => parameter.in !== 'header')
            .map(({ name, schema }) => [name, arbitraryOf(schema, schemas)]),
        ),
        { requiredKeys: [] },
      ),
      payload: media === undefined ? fc.constant(undefined) : arbitraryOf(media.schema, schemas),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ parameters, payload }) => {
        // A wait that is allowed is a wait.
        const { wait } = parameters
        if (typeof wait === 'number' && wait > 0 && wait <= 30) parameters.wait = 1
        const url = urlOf(path, operation.parameters, parameters)
        const answer = await service.app.inject({
          method: method as 'GET',
          url,
          ...(payload === undefined
            ? {}
            : {
                payload: JSON.stringify(payload),
                headers: { 'content-type': 'application/json' },
              }),
        })
        asked++
        expect(answer.statusCode, `${method} ${url}: ${answer.body}`).toBeLessThan(500)
        // A path that lost its parameter, or is too long for one, is another route's or nobody's.
        if (answer.statusCode === 404 || answer.statusCode === 405) return
        expect(judge.problemOf(described, answer)).toBeUndefined()
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
    return fuzzNext()
  }
  // Several at once, because some wait for a name server or a settlement.
  await Promise.all(Array.from({ length: LANES }, fuzzNext))
  expect(asked).toBeGreaterThan(30 * RUNS)
  expect(heapBytes() - before).toBeLessThan(MAX_GROWTH_BYTES)
  expect((await service.app.inject('/ready')).statusCode).toBe(200)
}, 240_000)

function urlOf(
  path: string,
  described: readonly { name: string; in: string }[],
  values: Record<string, unknown>,
): string {
  const query = new URLSearchParams()
  let filled = path
  for (const { name, in: place } of described) {
    const value = values[name]
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value ?? 'x')
    if (place === 'path') filled = filled.replace(`{${name}}`, segmentOf(text))
    else if (name in values) query.append(name, text)
  }
  const search = query.toString()
  return search === '' ? filled : `${filled}?${search}`
}

/** A lone surrogate cannot stand in a URL; nothing, and dots, would name another path. */
function segmentOf(text: string): string {
  const segment = encodeURIComponent(text.replace(/[\ud800-\udfff]/g, ''))
  return /^\.{0,2}$/.test(segment) ? 'x' : segment
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Returns the heap in use after a garbage collection. */
function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
