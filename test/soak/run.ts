/**
 * Runs mixed trouble under load for a while, and audits every answer by the chain.
 *
 *   npm run soak                                one service on SQLite, ten minutes at 50 payments a second
 *   npm run soak -- --minutes 3 --rate 20       for as long, at that rate
 *   npm run soak -- --replicas 3                as many services on one PostgreSQL, at 20 payments a second
 *   npm run soak -- --facilitators 3 --directories 2
 *                                               each half on its own, behind nginx; one of each is killed every 20 seconds
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const number = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    minutes: number,
    rate: number,
    replicas: number,
    facilitators: number,
    directories: number,
  },
})
const { minutes = '10', replicas = '1' } = values
const hasHalves = values.facilitators !== undefined || values.directories !== undefined
const { facilitators = '1', directories = '1' } = values
const { rate = replicas === '1' && !hasHalves ? '50' : '20' } = values
const counts = { minutes, rate, replicas, facilitators, directories }
for (const [name, value] of Object.entries(counts)) {
  if (Number(value) > 0) continue
  process.stderr.write(`--${name} takes a number above 0, not "${value}"\n`)
  process.exit(2)
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', `file://${root}`))
const child = spawn(process.execPath, [vitest, 'run', '--project', 'soak'], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    SOAK_MINUTES: minutes,
    SOAK_RATE: rate,
    SOAK_REPLICAS: replicas,
    ...(hasHalves && { SOAK_HALVES: `${facilitators} ${directories}` }),
  },
})
const [code] = await once(child, 'close')
process.exitCode = code ?? 1
