import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/process.js'
import {
  build,
  type Chroot,
  enter,
  makeBaseImage,
  type Running,
  start,
} from './container/chroot.js'
import { parseDockerfile } from './container/dockerfile.js'

/*
 * Tests the Dockerfile without a container engine: each of its steps runs in a clean chroot, and the last image serves
 * from a read-only root as user `node`. It needs root, debootstrap and some 3 GB.
 */
const say: Say = (line) => process.stdout.write(`${line}\n`)
const project = fileURLToPath(new URL('..', import.meta.url))

type Say = (line: string) => void

const READY_TIMEOUT_MS = 120_000

const untested = `
Not tested here, because there is no engine: the tag of the base image with its versions of Debian and Node, the settings
of an engine for user, volume, capabilities, seccomp and limits, the layers and their size, docker-compose.yml and its
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
  const chroots = new Map<string, Chroot>()
  const context = exportContext()
  for (const stage of stages) {
    const known = chroots.get(stage.from)
    const base = known ?? { root: makeBaseImage(stage.from, folder) }
    rmSync(join(folder, stage.name), { recursive: true, force: true })
    chroots.set(stage.name, build(stage, base, chroots, { folder, context, say }))
  }
  const service = chroots.get('service') as Chroot
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  checkContents(service, lock, say)
  await checkService(service, folder, say)
  await checkDevnet(chroots.get('devnet') as Chroot, say)
  say(untested)
}

/** Copies the files that an engine would get: the tracked ones, because `.dockerignore` leaves out generated files. */
function exportContext(): string {
  const context = join(folder, 'context')
  rmSync(context, { recursive: true, force: true })
  mkdirSync(context)
  execFileSync('sh', ['-c', `git ls-files -z | xargs -0 cp --parents -t '${context}'`], {
    cwd: project,
  })
  return context
}

/** The packages of the lockfile by path. Those for development or for one platform are marked. */
interface Lock {
  packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>
}

/** Checks that the image of the service has no package of development. */
function checkContents(service: Chroot, lock: Lock, say: Say): void {
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

function sizeOf({ root }: Chroot, folder: string): string {
  const output = execFileSync('du', ['-sm', join(root, folder)], { encoding: 'utf8' })
  return output.split('\t')[0] as string
}

/** Checks that the service runs from a read-only root, reports its health, and drains on SIGTERM. */
async function checkService(service: Chroot, folder: string, say: Say): Promise<void> {
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

/** Checks that the devnet runs in its image and settles a payment. */
async function checkDevnet(devnet: Chroot, say: Say): Promise<void> {
  const [port, rpcPort, apiPort] = [await freePort(), await freePort(), await freePort()]
  const ports = ['--port', port, '--rpc-port', rpcPort, '--api-port', apiPort].map(String)
  // docker-compose.yml does not make it read-only either.
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

function missing(path: string): string[] {
  return existsSync(path) ? [] : [path]
}

/** Tells whether the user of the image can make a file while its root is read-only. */
function writes(chroot: Chroot, path: string): boolean {
  try {
    enter(chroot, ['touch', path], {}, { isReadOnly: true })
    return true
  } catch {
    return false
  }
}

function doctorFault(service: Chroot, env: Record<string, string>): string[] {
  const elsewhere = { ...env, DATABASE_URL: 'sqlite:/tmp/a.db' }
  return fault(service, ['node', 'dist/cli/doctor.js'], elsewhere)
}

/** Returns the output of a command that did not end with 0. */
function fault(chroot: Chroot, command: string[], env: Record<string, string>): string[] {
  try {
    enter(chroot, command, env)
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
  throw new Error(`no 200 from ${url}:\n${running.output().slice(-4_000)}`)
}

function expect(say: Say, claim: string, problems: string[]): void {
  if (problems.length > 0) throw new Error(`failed: ${claim}: ${problems.join(', ')}`)
  say(`  ok  ${claim}`)
}
