import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil-process.js'
import { placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/ports.js'
import { makeBaseImage } from './container/base-image.js'
import { parseDockerfile } from './container/dockerfile.js'
import { build, enter, type Room, start } from './container/room.js'

/*
 * Proves the Dockerfile where there is no container engine: each of its steps runs in a clean chroot, and the last image
 * serves from a root that cannot be written, as user `node`. Needs root, debootstrap and some 3 GB.
 */
const say = (line: string) => process.stdout.write(`${line}\n`)
const project = fileURLToPath(new URL('..', import.meta.url))

const unproved = `
Not proved here, as there is no engine: that the tag of the base image exists and has Debian and Node of these versions,
how an engine sets user, volume, capabilities, seccomp and limits, the layers and their size, docker-compose.yml and its
networks, and other architectures than this one.`

if (process.getuid?.() !== 0) {
  throw new Error('run it as root: chroot and mounts need it')
}
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'arcus-container-'))
mkdirSync(folder, { recursive: true })
try {
  await prove()
} finally {
  if (process.argv[2] === undefined) rmSync(folder, { recursive: true, force: true })
}

async function prove(): Promise<void> {
  const stages = parseDockerfile(readFileSync(join(project, 'Dockerfile'), 'utf8'))
  const rooms = new Map<string, Room>()
  const context = exportContext()
  for (const stage of stages) {
    const known = rooms.get(stage.from)
    const base = known ?? { root: makeBaseImage(stage.from, folder) }
    rmSync(join(folder, stage.name), { recursive: true, force: true })
    rooms.set(stage.name, build(stage, base, rooms, { folder, context, say }))
  }
  const service = rooms.get('service') as Room
  checkContents(service)
  await checkService(service)
  await checkDevnet(rooms.get('devnet') as Room)
  say(unproved)
}

/** What an engine would be sent: the tracked files, as `.dockerignore` leaves out what is made. */
function exportContext(): string {
  const context = join(folder, 'context')
  rmSync(context, { recursive: true, force: true })
  mkdirSync(context)
  execFileSync('sh', ['-c', `git ls-files -z | xargs -0 cp --parents -t '${context}'`], {
    cwd: project,
  })
  return context
}

function checkContents(service: Room): void {
  const modules = join(service.root, 'arcus/node_modules')
  const absent = ['typescript', 'vitest', '@biomejs', 'tsx', 'solc', '@foundry-rs', 'express']
  const present = absent.filter((name) => existsSync(join(modules, name)))
  expect('no development package is in the image', present.length === 0, present.join(', '))
  expect('it runs as node', service.user === 'node', service.user)
  const size = execFileSync('du', ['-sm', join(service.root, 'arcus')], { encoding: 'utf8' })
  say(`      /arcus has ${size.split('\t')[0]} MB`)
}

async function checkService(service: Room): Promise<void> {
  const chain = await startAnvil({ mining: 'auto' })
  const volume = join(folder, 'volume')
  mkdirSync(volume, { recursive: true })
  execFileSync('chown', ['1000:1000', volume])
  try {
    await placeContracts(chain.url)
    const env = {
      PORT: String(await freePort()),
      MAINNET_RPC_URLS: chain.url,
      RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
    }
    const running = start(service, env, volume)
    const exited = once(running, 'exit')
    const url = `http://127.0.0.1:${env.PORT}`
    expect('the image serves and is ready', await isReady(`${url}/ready`), 'no 200 from /ready')
    expect('it keeps its journal in the volume', existsSync(join(volume, 'arcus.db')), volume)
    expect('it describes itself', (await fetch(`${url}/openapi.json`)).ok, 'no /openapi.json')
    enter(service, service.healthcheck, { PORT: env.PORT })
    expect('its health check passes', true)
    expect('the doctor runs in it', doctorPasses(service, env), 'see dist/cli/doctor.js')
    running.kill('SIGTERM')
    const [code] = await exited
    expect('it drains and exits 0 on SIGTERM', code === 0, `exit code ${code}`)
    expect('its health check fails once it is gone', !passes(service, service.healthcheck, env))
  } finally {
    await chain.stop()
  }
}

async function checkDevnet(devnet: Room): Promise<void> {
  const running = start(devnet, { HOME: '/home/node' })
  try {
    expect('the devnet starts', await isReady('http://127.0.0.1:4021/ready'), 'no 200 from /ready')
    const paid = enter(devnet, ['npm', 'run', 'pay'])
    expect('its buyer pays', /200 OK/.test(paid), paid)
  } finally {
    const exited = once(running, 'exit')
    running.kill('SIGTERM')
    await exited
  }
}

function doctorPasses(service: Room, env: Record<string, string>): boolean {
  return passes(service, ['node', 'dist/cli/doctor.js'], {
    ...env,
    DATABASE_URL: 'sqlite:/tmp/a.db',
  })
}

function passes(room: Room, command: string[], env: Record<string, string>): boolean {
  try {
    enter(room, command, env)
    return true
  } catch {
    return false
  }
}

async function isReady(url: string): Promise<boolean> {
  const deadline = Date.now() + 90_000
  while (Date.now() < deadline) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return true
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  return false
}

function expect(what: string, isSo: boolean, instead = ''): void {
  if (!isSo) throw new Error(`not so: ${what}. ${instead}`)
  say(`  ok  ${what}`)
}
