import { afterEach, expect, it, vi } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'

let directory: TestDirectory | undefined

afterEach(() => directory?.close())

const everywhere = ['call webhooks', 'check identities', 'probe endpoints']
const onceSweeps = ['count usage', 'forget old activity', 'forget old events']
const onceWithSpace = ['add events to feeds', 'publish again']

/** Starts a directory, and returns the tasks of its list that have run a moment later. */
async function tasksRun({ isKeeper, isLow }: { isKeeper: boolean; isLow: boolean }) {
  directory = await startDirectory({ isIdle: true, ports: { isKeeper: () => isKeeper } })
  directory.disk.isLow = isLow
  const { figures } = directory.directory.background
  directory.start()
  const runs = (name: string) => figures().find(({ task }) => task === name)?.done ?? 0
  // All others began before it runs again.
  await vi.waitUntil(() => runs('call webhooks') > 2, { timeout: 10_000 })
  expect(figures().filter(({ failed }) => failed > 0)).toEqual([])
  return figures()
    .flatMap(({ task, done }) => (done > 0 ? [task] : []))
    .sort()
}

it('one process does what is done once for all, and every process does its share of the rest', async () => {
  expect(await tasksRun({ isKeeper: false, isLow: false })).toEqual(everywhere)
  await directory?.close()
  expect(await tasksRun({ isKeeper: true, isLow: false })).toEqual(
    [...everywhere, ...onceSweeps, ...onceWithSpace].sort(),
  )
})

it('what adds rows rests while the disk is low, and old rows are still deleted', async () => {
  expect(await tasksRun({ isKeeper: true, isLow: true })).toEqual(
    [...everywhere, ...onceSweeps].sort(),
  )
})

it('nothing runs after the end', async () => {
  await tasksRun({ isKeeper: true, isLow: false })
  await directory?.close()
  const { figures } = directory?.directory.background ?? { figures: () => [] }
  const after = figures()
  expect(after.length).toBeGreaterThan(0)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(figures()).toEqual(after)
})
