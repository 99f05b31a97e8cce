import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Pool } from 'undici'

/** A process that asks without a pause, so that its own work is not in the latencies of others. */
export interface SearchStorm {
  rise(): void
  /** How many answers and how many refusals there were since it rose. */
  lie(): Promise<StormFigures>
  stop(): Promise<void>
}

export interface StormFigures {
  answered: number
  refused: number
}

const SEARCHERS = 4
const LETTERS = 'etaoinshrdlu'

/** Starts this file as a process of its own; `path` is what is asked for, with a word nobody asked for before behind it. */
export async function startSearchStorm(url: string, path: string): Promise<SearchStorm> {
  const script = new URL(import.meta.url).pathname
  const child = spawn(process.execPath, ['--import', 'tsx', script, 'storm', url, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  return {
    rise: () => void child.stdin.write('rise\n'),
    async lie() {
      const told = once(lines, 'line')
      child.stdin.write('lie\n')
      const [line] = (await told) as [string]
      return JSON.parse(line)
    },
    async stop() {
      const exited = once(child, 'exit')
      child.stdin.end()
      await exited
    },
  }
}

/** Each searcher asks for the next two letters as soon as it is answered. */
async function storm(url: string, path: string): Promise<void> {
  const pool = new Pool(url, { connections: SEARCHERS })
  let isRaging = false
  let asked = 0
  let figures: StormFigures = { answered: 0, refused: 0 }
  let searchers: Promise<void>[] = []

  /** A service that is gone refuses too: the bench ends instead of waiting for a storm that broke off. */
  async function isAnswered(target: string): Promise<boolean> {
    try {
      const { statusCode, body } = await pool.request({ method: 'GET', path: target })
      await body.dump()
      return statusCode === 200
    } catch {
      return false
    }
  }

  async function search(): Promise<void> {
    while (isRaging) {
      const letters = `${LETTERS[asked % 12]}${LETTERS[Math.floor(asked / 12) % 12]}`
      const target = `${path}${letters}+${asked++}`
      if (await isAnswered(target)) figures.answered++
      else figures.refused++
    }
  }

  process.stdout.write('ready\n')
  for await (const word of createInterface(process.stdin)) {
    isRaging = word === 'rise'
    if (isRaging) {
      figures = { answered: 0, refused: 0 }
      searchers = Array.from({ length: SEARCHERS }, search)
    } else {
      await Promise.all(searchers)
      process.stdout.write(`${JSON.stringify(figures)}\n`)
    }
  }
  process.exit()
}

if (process.argv[1] === new URL(import.meta.url).pathname && process.argv[2] === 'storm') {
  const [, , , url = '', path = ''] = process.argv
  await storm(url, path)
}
