import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = join(root, 'src', 'dashboard')
const page = join(root, 'dist', 'dashboard', 'index.html')

export type DashboardBuild =
  | { state: 'fresh' | 'built' }
  /** The last lines of what the build said. */
  | { state: 'failed'; complaint: string }

/** Builds the console when it was never built, or its sources are newer; takes some seconds then. Never rejects. */
export async function buildDashboard(): Promise<DashboardBuild> {
  if (isFresh()) return { state: 'fresh' }
  const { code, said } = await run('npm', ['run', '--silent', 'build:dashboard'])
  if (code === 0) return { state: 'built' }
  return { state: 'failed', complaint: said.trim().split('\n').slice(-5).join('\n') }
}

function isFresh(): boolean {
  if (!existsSync(page)) return false
  const builtAt = statSync(page).mtimeMs
  // An image may hold the build without its sources.
  if (!existsSync(sources)) return true
  return readdirSync(sources, { recursive: true, encoding: 'utf8' }).every(
    (name) => statSync(join(sources, name)).mtimeMs <= builtAt,
  )
}

function run(command: string, args: string[]): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    // A group of its own: what the launcher starts ends with it.
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      // A test runner's own would build React as for development: three times as large, and past the budget.
      env: { ...process.env, NODE_ENV: 'production' },
    })
    const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGTERM')
    process.once('exit', end)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    }
    child.once('error', (error) => resolve({ code: null, said: error.message }))
    child.once('close', (code) => {
      process.removeListener('exit', end)
      resolve({ code, said })
    })
  })
}
