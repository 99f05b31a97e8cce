import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readSettings } from '../../../../src/app/config/config.js'
import { startDirectoryThread } from '../../../../src/app/directory/link.js'
import { createLogger } from '../../../../src/app/logger.js'
import { devnetRelayers } from '../../../../src/devnet/accounts.js'

// The threads are real ones, and only the clock of this one is not.
beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
})
afterEach(async () => {
  const stopped = stop()
  vi.advanceTimersByTime(10_000)
  await stopped
  vi.useRealTimers()
})

let stop = async () => {}

/** Starts a thread that does `code` in the place of the directory. */
function aLink(code: string) {
  const { config, secrets } = readSettings({
    MAINNET_RPC_URLS: 'http://127.0.0.1:1',
    RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
  })
  const lines: string[] = []
  const script = `import { parentPort } from 'worker_threads'
    const say = (message) => parentPort.postMessage(message)
    parentPort.on('message', (it) => it === 'stop' && process.exit())
    ${code}`
  const link = startDirectoryThread({
    data: { config, secrets, turnFlags: undefined, mainRoutes: [] },
    calls: undefined,
    log: createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } }),
    script: new URL(`data:text/javascript,${encodeURIComponent(script)}`),
  })
  stop = link.stop
  return { ...link, logged: (text: string) => lines.some((line) => line.includes(text)) }
}

/** Lets the other thread work until something is true; the clock of this one stands. */
async function until(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setImmediate(resolve))
}

it('a thread that falls silent is ended, and another one answers', async () => {
  const link = aLink(`say({ kind: 'ready' }); setImmediate(() => { for (;;); })`)
  await link.ready
  vi.advanceTimersByTime(29_000)
  expect(link.isUp()).toBe(true)
  vi.advanceTimersByTime(2_000)
  expect(link.isUp()).toBe(false)
  await until(() => link.logged('the thread of the directory ended; payments go on'))
  expect(link.logged('the directory does not answer; it is started again')).toBe(true)
  vi.advanceTimersByTime(1_000)
  expect(link.restarts()).toBe(1)
  await until(link.isUp)
})

it('a thread that beats is left alone, however long it runs', async () => {
  const link = aLink(
    `say({ kind: 'ready' }); setInterval(() => say({ kind: 'beat', figures: {} }), 5)`,
  )
  await link.ready
  for (let minutes = 0; minutes < 5; minutes++) {
    for (let half = 0; half < 3; half++) {
      vi.advanceTimersByTime(20_000)
      const figures = link.figures()
      await until(() => link.figures() !== figures)
    }
  }
  expect([link.isUp(), link.restarts()]).toEqual([true, 0])
})

it('a directory that cannot start with its settings says why', async () => {
  const link = aLink(`say({ kind: 'failed', name: 'ConfigError', message: 'A setting is wrong.' })`)
  await expect(link.ready).rejects.toThrow('A setting is wrong.')
})

it('the folder of its socket goes with it', async () => {
  const link = aLink(`say({ kind: 'ready' })`)
  await link.ready
  const folder = dirname(link.socketPath)
  expect(existsSync(folder)).toBe(true)
  await link.stop()
  expect(existsSync(folder)).toBe(false)
})
