import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it.runIf(process.platform === 'linux').concurrent.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'a supervised child does not outlive its parent, even when that ends by %s',
  async (signal) => {
    const script = fileURLToPath(new URL('a-parent.ts', import.meta.url))
    const parent = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(parent.stdout, 'data')
    const [first, second] = String(line).trim().split(' ').map(Number) as [number, number]
    expect([isAlive(first), isAlive(second)]).toEqual([true, false])
    parent.kill(signal)
    await vi.waitUntil(() => !isAlive(first), { timeout: 30_000, interval: 20 })
  },
)
