import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { migrate } from '../../../../src/sql/postgres/migrate.js'

afterEach(() => {
  vi.useRealTimers()
})

it('a database that accepts connections and says nothing is waited for five seconds', async () => {
  const silent = createServer((socket) => onTestFinished(() => void socket.destroy()))
  onTestFinished(() => void silent.close())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = silent.address() as AddressInfo
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let failure: unknown
  const migrating = migrate(`postgres://arcus@127.0.0.1:${port}/arcus`).catch((error) => {
    failure = error
  })
  await once(silent, 'connection')
  vi.advanceTimersByTime(4_999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(failure).toBeUndefined()
  vi.advanceTimersByTime(1)
  await migrating
  expect(failure).toBeInstanceOf(StoreUnavailableError)
})
