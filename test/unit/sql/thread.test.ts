import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { superviseThread } from '../../../src/sql/thread.js'
import { withResolvers } from '../../support/with-resolvers.js'

// The threads are real ones, and only the clock of this one is not.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const aScript = (code: string) =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'worker_threads'\n${code}`)}`,
  )
const patient = aScript(`parentPort.on('message', (it) => it === 'stop' && parentPort.close())`)

/** Supervises a thread; `end` ends it as a fault does, once it is there. */
function aThread(script = patient) {
  let started = withResolvers()
  let ended = withResolvers<unknown>()
  let starts = 0
  let fault: unknown
  const thread = superviseThread<never, never>(script, {
    maxHeapMb: 32,
    onMessage() {},
    onFault: (error) => {
      fault = error
    },
    onStart() {
      starts++
      started.resolve()
      started = withResolvers()
    },
    onEnd() {
      ended.resolve(fault)
      ended = withResolvers()
    },
  })
  onTestFinished(() => thread.stop())
  thread.start()
  return {
    ...thread,
    starts: () => starts,
    ended: () => ended.promise,
    async fail() {
      const { promise } = ended
      thread.end()
      await promise
    },
  }
}

it('a thread that ends soon after each start is started later each time, and at last twice a minute', async () => {
  const thread = aThread()
  for (const [starts, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
    await thread.fail()
    vi.advanceTimersByTime(seconds * 1_000 - 1)
    expect(thread.starts()).toBe(starts + 1)
    vi.advanceTimersByTime(1)
    expect(thread.starts()).toBe(starts + 2)
  }
})

it('a thread that ran for a minute starts again after a second', async () => {
  const thread = aThread()
  for (const seconds of [1, 2, 4]) {
    await thread.fail()
    vi.advanceTimersByTime(seconds * 1_000)
  }
  vi.advanceTimersByTime(60_000)
  await thread.fail()
  vi.advanceTimersByTime(1_000)
  expect(thread.starts()).toBe(5)
})

it('a thread that throws is reported, and another one follows', async () => {
  const thread = aThread(aScript(`throw new Error('a fault of the thread')`))
  expect(await thread.ended()).toMatchObject({ message: 'a fault of the thread' })
  vi.advanceTimersByTime(1_000)
  expect(thread.starts()).toBe(2)
})

it('a thread that does not stop when it is asked to is ended, and none follows', async () => {
  const thread = aThread(aScript(`for (;;);`))
  const stopped = thread.stop(500)
  vi.advanceTimersByTime(500)
  await stopped
  vi.advanceTimersByTime(60_000)
  expect(thread.starts()).toBe(1)
  expect(thread.post('stop')).toBe(false)
})
