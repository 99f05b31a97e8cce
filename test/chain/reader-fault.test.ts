import { Worker } from 'node:worker_threads'
import { expect, it, vi } from 'vitest'
import { startWorld } from '../support/arcus.js'

it('logs that the thread that reads the database ended, and answers again', async () => {
  const posting = vi.spyOn(Worker.prototype, 'postMessage')
  const lines: Record<string, unknown>[] = []
  const world = await startWorld({ env: { LOG_LEVEL: 'warn' }, onLine: (line) => lines.push(line) })
  try {
    const read = () => world.get('/api/status')
    await vi.waitFor(async () => expect((await read()).status).toBe(200))
    const asked = posting.mock.calls.findIndex(([it]) => (it as { text?: string }).text)
    const reader = posting.mock.contexts[asked] as Worker
    // No thread survives a question that is none.
    reader.postMessage(null)
    await vi.waitFor(() =>
      expect(lines).toContainEqual(
        expect.objectContaining({
          msg: 'a connection to the database broke; another one is opened',
          err: expect.objectContaining({ type: 'TypeError' }),
        }),
      ),
    )
    await vi.waitFor(async () => expect((await read()).status).toBe(200), 10_000)
  } finally {
    posting.mockRestore()
    await world.stop()
  }
})
