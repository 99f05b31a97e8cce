import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { startAnvil } from '../../src/devnet/anvil.js'
import { placeContracts } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { enter, type Room, type Running, start } from './room.js'

type Say = (line: string) => void

const READY_TIMEOUT_MS = 120_000

/** What `npm ci` may install, by path; what only development or a platform needs is marked. */
interface Lock {
  packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>
}

/** The image of the service has what it needs and no more. */
export function checkContents(service: Room, lock: Lock, say: Say): void {
  const absent = Object.entries(lock.packages).filter(
    ([, { dev, optional, devOptional }]) => dev || optional || devOptional,
  )
  const present = absent
    .map(([path]) => path)
    .filter((path) => existsSync(join(service.root, 'arcus', path, 'package.json')))
  expect(say, `none of ${absent.length} packages of development is in the image`, present)
  expect(say, 'it runs as node', service.user === 'node' ? [] : [service.user])
  for (const folder of ['/arcus', '/']) say(`      ${folder} has ${sizeOf(service, folder)} MB`)
}

function sizeOf({ root }: Room, folder: string): string {
  const told = execFileSync('du', ['-sm', join(root, folder)], { encoding: 'utf8' })
  return told.split('\t')[0] as string
}

/** It serves from a root that cannot be written, says how it is, and ends when told. */
export async function checkService(service: Room, folder: string, say: Say): Promise<void> {
  const chain = await startAnvil({ mining: 'auto' })
  const volume = join(folder, 'volume')
  rmSync(volume, { recursive: true, force: true })
  mkdirSync(volume)
  execFileSync('chown', ['1000:1000', volume])
  try {
    await placeContracts(chain.url)
    const env = {
      PORT: String(await freePort()),
      MAINNET_RPC_URLS: chain.url,
      RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
    }
    const running = start(service, env, { isReadOnly: true, volume })
    const url = `http://127.0.0.1:${env.PORT}`
    try {
      await untilReady(`${url}/ready`, running)
      say('  ok  the image serves and is ready')
      expect(say, 'its root cannot be written', writes(service, '/arcus/x') ? ['written'] : [])
      expect(say, 'it keeps its journal in the volume', missing(join(volume, 'arcus.db')))
      const { ok } = await fetch(`${url}/openapi.json`)
      expect(say, 'it describes itself', ok ? [] : ['/openapi.json'])
      expect(say, 'its health check passes', fault(service, service.healthcheck, env))
      expect(say, 'the doctor runs in it', doctorFault(service, env))
    } finally {
      running.stop()
    }
    const code = await running.exited
    expect(say, 'it drains and exits 0 on SIGTERM', code === 0 ? [] : [`exit code ${code}`])
    const stillPasses = fault(service, service.healthcheck, env).length === 0
    expect(say, 'its health check fails once it is gone', stillPasses ? ['passed'] : [])
  } finally {
    await chain.stop()
  }
}

/** The playground runs in its image, and a payment goes through. */
export async function checkDevnet(devnet: Room, say: Say): Promise<void> {
  const [port, rpcPort, apiPort] = [await freePort(), await freePort(), await freePort()]
  const ports = ['--port', port, '--rpc-port', rpcPort, '--api-port', apiPort].map(String)
  // Not read-only, as in docker-compose.yml.
  const options = { isReadOnly: false, command: [...devnet.command, '--', ...ports] }
  const running = start(devnet, { HOME: '/home/node' }, options)
  try {
    await untilReady(`http://127.0.0.1:${port}/ready`, running)
    say('  ok  the devnet starts')
    const chain = `http://127.0.0.1:${rpcPort}`
    const sample = `http://localhost:${apiPort}/quote`
    const paid = enter(devnet, ['npm', 'run', 'pay', '--', sample, '--rpc', chain])
    expect(say, 'its buyer pays', /200 OK/.test(paid) ? [] : [paid])
    const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
    expect(say, 'its console is there', page.includes('<script') ? [] : [page])
  } finally {
    running.stop()
    await running.exited
  }
}

const missing = (path: string) => (existsSync(path) ? [] : [path])

/** Whether the user of the room could make a file while its root is read-only. */
function writes(room: Room, path: string): boolean {
  try {
    enter(room, ['touch', path], {}, { isReadOnly: true })
    return true
  } catch {
    return false
  }
}

function doctorFault(service: Room, env: Record<string, string>): string[] {
  const elsewhere = { ...env, DATABASE_URL: 'sqlite:/tmp/a.db' }
  return fault(service, ['node', 'dist/cli/doctor.js'], elsewhere)
}

/** What a command said that did not end with 0. */
function fault(room: Room, command: string[], env: Record<string, string>): string[] {
  try {
    enter(room, command, env)
    return []
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    return [`${command.join(' ')}\n${stdout}${stderr}`]
  }
}

async function untilReady(url: string, running: Running): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < deadline) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  throw new Error(`no 200 from ${url}:\n${running.said().slice(-4_000)}`)
}

function expect(say: Say, what: string, instead: string[]): void {
  if (instead.length > 0) throw new Error(`not so: ${what}: ${instead.join(', ')}`)
  say(`  ok  ${what}`)
}
