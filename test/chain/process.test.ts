import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { freePort } from '../../src/devnet/process.js'
import { startChain } from '../support/arcus.js'

const SLOW = { timeout: 60_000, interval: 100 }
const command = `"${process.execPath}" --import tsx src/cli/serve.ts`

async function withChain(work: (env: NodeJS.ProcessEnv, port: number) => Promise<void>) {
  const chain = await startChain()
  const port = await freePort()
  try {
    const env = {
      PATH: process.env.PATH,
      PORT: String(port),
      HOST: '127.0.0.1',
      LOG_LEVEL: 'silent',
      MAINNET_RPC_URLS: chain.url,
      RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
      DATABASE_URL: 'sqlite::memory:',
    }
    await work(env, port)
  } finally {
    await chain.stop()
  }
}

const isHealthy = (port: number) =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

it('says so and ends when its port is taken, with no relayer left at work', async () => {
  await withChain(async (env, port) => {
    const other = createServer().listen(port, '127.0.0.1')
    try {
      const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/serve.ts'], { env })
      let said = ''
      child.stderr.on('data', (text) => {
        said += text
      })
      const code = await new Promise((resolve) => child.once('exit', resolve))
      expect(code).toBe(1)
      expect(said).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}`)
      expect(said).toContain('set PORT')
    } finally {
      other.close()
    }
  })
}, 90_000)

it.each([
  ['npm', (shells: number[]) => shells[0]],
  ['the shell between', (shells: number[]) => shells[1]],
])(
  'ends when %s that started it is killed',
  async (_, pick) => {
    await withChain(async (env, port) => {
      // As npm does it: a parent, a shell, the command. What comes after it keeps a shell from taking its place.
      const outer = `sh -c 'echo $$; ${command}; true'; true`
      const child = spawn('sh', ['-c', outer], {
        env: { ...env, npm_lifecycle_script: command },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const inner = await new Promise<number>((resolve) =>
        child.stdout.once('data', (text) => resolve(Number(text))),
      )
      await expect.poll(() => isHealthy(port), SLOW).toBe(true)
      process.kill(pick([child.pid as number, inner]) as number, 'SIGKILL')
      await expect.poll(() => isHealthy(port), SLOW).toBe(false)
    })
  },
  90_000,
)

it('goes on when whoever started npm is gone, and ends with npm', async () => {
  await withChain(async (env, port) => {
    const npm = `process.title = 'npm start'
      console.log(process.pid)
      require('node:child_process').spawn('sh', ['-c', process.env.COMMAND], { stdio: 'inherit' })`
    const login = spawn('sh', ['-c', `"${process.execPath}" -e "$NPM"; true`], {
      env: { ...env, npm_lifecycle_script: command, NPM: npm, COMMAND: command },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const npmId = await new Promise<number>((resolve) =>
      login.stdout.once('data', (text) => resolve(Number(text))),
    )
    await expect.poll(() => isHealthy(port), SLOW).toBe(true)
    login.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await isHealthy(port)).toBe(true)
    process.kill(npmId, 'SIGKILL')
    await expect.poll(() => isHealthy(port), SLOW).toBe(false)
  })
}, 90_000)
