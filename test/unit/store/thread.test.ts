import { once } from 'node:events'
import { getPriority } from 'node:os'
import { describe, expect, it } from 'vitest'
import { scriptBeside, startThread } from '../../../src/sql/thread.js'

describe.runIf(process.platform === 'linux')('lowerThreadPriority', () => {
  it('puts the thread behind the others of the process, and only it', async () => {
    const before = getPriority(process.pid)
    const thread = startThread(scriptBeside(import.meta.url, 'a-humble-thread'), { maxHeapMb: 64 })
    const [said] = await once(thread, 'message')
    await thread.terminate()
    expect(said).toEqual({ isLowered: true, mine: Math.min(before + 10, 19), main: before })
  })
})
