import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { save } from '../support/directory/a-catalog.js'
import { payTo } from '../support/directory/payments.js'

let directory: TestDirectory
beforeEach(async () => {
  directory = await startDirectory()
  await save(directory.store, { id: 'm', name: 'm', owner: payTo }, [{ title: 'Weather' }])
})
afterEach(() => directory.close())

const ask = (path: string, headers: Record<string, string> = {}) =>
  directory.app.inject({ url: path, headers })
const tagOf = async (path: string) => String((await ask(path)).headers.etag)
const endpoints = () => vi.spyOn(directory.store, 'endpointsOf')

describe.each([
  '/api/merchants/m',
  '/api/merchants/m/openapi.json',
  '/api/merchants/m/llms.txt',
  '/api/merchants/m/history',
  '/badge/m.svg',
])('%s', (path) => {
  it('is written once, however many ask, and not at all for who has it', async () => {
    const read = endpoints()
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(path)))
    const [first] = answers
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    const written = read.mock.calls.length
    expect(written).toBeLessThanOrEqual(1)
    const known = await ask(path, { 'if-none-match': String(first?.headers.etag) })
    expect([known.statusCode, known.body]).toEqual([304, ''])
    expect((await ask(path)).body).toBe(first?.body)
    expect(read.mock.calls.length).toBe(written)
  })

  it('travels compressed or not, by the same tag', async () => {
    const [plain, gzip] = [await ask(path), await ask(path, { 'accept-encoding': 'gzip' })]
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gzip.headers.etag).toBe(plain.headers.etag)
    expect(plain.headers.vary).toContain('accept-encoding')
  })
})

it('a listing is written again after a save, a probe, and new figures of use', async () => {
  const path = '/api/merchants/m'
  const tags = [await tagOf(path)]
  await save(directory.store, { id: 'm', name: 'm', owner: payTo }, [{ title: 'Wind' }])
  expect((await ask(path)).json()).toMatchObject({ endpoints: [{ title: 'Wind' }] })
  tags.push(await tagOf(path))

  const [endpoint] = await directory.store.endpointsOf('m')
  if (endpoint === undefined) throw new Error('there is no endpoint')
  const health = {
    status: 'failing',
    failures: 4,
    nextProbeAt: 4_000_000_000,
    probe: null,
  } as const
  await directory.store.saveProbe(endpoint.id, { ...endpoint, ...health }, 1_900_000_000)
  expect((await ask(path)).json()).toMatchObject({ endpoints: [{ state: { failures: 4 } }] })
  tags.push(await tagOf(path))

  await directory.pay({ resourceUrl: endpoint.url })
  await vi.waitFor(
    async () => expect((await ask(path)).json().usage).toMatchObject({ calls: { '30d': 1 } }),
    { timeout: 15_000 },
  )
  tags.push(await tagOf(path))
  expect(new Set(tags).size).toBe(4)
})
