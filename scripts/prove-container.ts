import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { signPayments } from '../bench/payments.js'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { mintUsdc, placeContracts, usdcBalance } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/process.js'
import { CERTIFICATES, makeBaseFolder } from './container/base-image.js'
import { openBuildah } from './container/buildah.js'
import { type Contained, type Running, runIn, startIn } from './container/contained.js'

/*
 * npm run test:container [-- FOLDER]
 *
 * Builds the Dockerfile with Debian's buildah, and settles payments with the image: as user `node`, from a read-only root,
 * without capabilities, as docker-compose.yml has it. Debian and Node by debootstrap and npm stand in place of the base
 * image. It needs root, buildah, debootstrap and 10 GB. FOLDER keeps images and `sbom.cdx.json` for the next run.
 */
const project = fileURLToPath(new URL('..', import.meta.url))
const compose = parse(readFileSync(join(project, 'docker-compose.yml'), 'utf8'))
const READY_TIMEOUT_MS = 120_000
const PAYMENTS = 49
const AT_ONCE = 10

const untested = `
Not tested here, because there is no engine and no registry: the tag of the base image, the profile of seccomp, limits of
memory, docker-compose.yml with its networks, and other architectures than this one.`

if (process.getuid?.() !== 0) throw new Error('run it as root: chroot and mounts need it')
const kept = process.argv[2]
const folder = kept ?? mkdtempSync(join(tmpdir(), 'arcus-container-'))
mkdirSync(folder, { recursive: true })
const buildah = openBuildah(folder)
try {
  await prove()
} finally {
  buildah.close()
  if (kept === undefined) rmSync(folder, { recursive: true, force: true })
}

async function prove(): Promise<void> {
  const startedAt = Date.now()
  const base = importBase()
  const context = exportContext()
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: project, encoding: 'utf8' }).trim()
  const labels = {
    'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
    'org.opencontainers.image.created': new Date(startedAt).toISOString(),
  }
  for (const target of ['service', 'devnet']) {
    const from = Date.now()
    buildah.build({
      context,
      target,
      name: `localhost/${target}`,
      args: { NODE_IMAGE: base },
      labels,
    })
    const seconds = Math.round((Date.now() - from) / 1000)
    say(`  ok  ${target} is built, ${seconds} s, ${buildah.megabytes(`localhost/${target}`)} MB`)
  }
  say(`      its base has ${buildah.megabytes(base)} MB`)
  const service: Contained = {
    ...buildah.settings('localhost/service'),
    root: buildah.mount('localhost/service'),
    isLocked: true,
  }
  checkLabels(service, labels)
  checkContents(service)
  await checkService(service)
  await checkDevnet({
    ...buildah.settings('localhost/devnet'),
    root: buildah.mount('localhost/devnet'),
    isLocked: false,
  })
  say(`      in ${Math.round((Date.now() - startedAt) / 1000)} s${untested}`)
}

/** Makes an image in place of the one that the Dockerfile names; returns its name. */
function importBase(): string {
  const [, named = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(read('Dockerfile')) ?? []
  const name = `localhost/${named}`
  // A registry behind a proxy may use a certificate that only this machine knows.
  const certificates = existsSync(CERTIFICATES) ? { NODE_EXTRA_CA_CERTS: CERTIFICATES } : {}
  buildah.importFolder(makeBaseFolder(named, folder), name, {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...certificates,
  })
  return name
}

function read(path: string): string {
  return readFileSync(join(project, path), 'utf8')
}

/** Copies the tracked files, so that nothing generated gets into the image. `.dockerignore` applies as well. */
function exportContext(): string {
  const context = join(folder, 'context')
  rmSync(context, { recursive: true, force: true })
  mkdirSync(context)
  execFileSync('sh', ['-c', `git ls-files -z | xargs -0 cp --parents -t '${context}'`], {
    cwd: project,
  })
  return context
}

function checkLabels({ labels }: Contained, given: Record<string, string>): void {
  const { version, description, license } = JSON.parse(read('package.json'))
  const wanted = {
    ...given,
    'org.opencontainers.image.title': 'Arcus',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.licenses': license,
  }
  const wrong = Object.entries(wanted).filter(([name, value]) => labels[name] !== value)
  expect('its labels name version, license, revision and date', wrong.map(String))
}

/** The packages of the lockfile by path. Those for development or for one platform are marked. */
interface Lock {
  packages: Record<
    string,
    { version?: string; dev?: boolean; optional?: boolean; devOptional?: boolean }
  >
}

interface Bom {
  components: { name: string; version: string; purl: string }[]
}

/** Checks that the image holds no package of development and no test, and that its bill of materials is true. */
function checkContents(service: Contained): void {
  const lock: Lock = JSON.parse(read('package-lock.json'))
  const inside = join(service.root, service.workdir)
  const absent = Object.entries(lock.packages)
    .filter(([, { dev, optional, devOptional }]) => dev || optional || devOptional)
    .map(([path]) => path)
  const present = [...absent, 'test', 'src', 'bench'].filter((path) =>
    existsSync(join(inside, path, path.includes('node_modules') ? 'package.json' : '')),
  )
  expect(`none of ${absent.length} packages of development, no test, no source`, present)
  expect('its user is node', service.user === 'node' ? [] : [service.user])
  const megabytes = execFileSync('du', ['-sm', inside], { encoding: 'utf8' }).split('\t')[0]
  say(`      ${service.workdir} has ${megabytes} MB`)

  const file = join(inside, 'sbom.cdx.json')
  const { components }: Bom = JSON.parse(readFileSync(file, 'utf8'))
  if (kept !== undefined) cpSync(file, join(kept, 'sbom.cdx.json'))
  const purls = new Set(components.map(({ purl }) => purl))
  const wanted = ['viem', 'fastify', 'better-sqlite3', 'react', 'pg'].map(
    (name) => `pkg:npm/${name}@${lock.packages[`node_modules/${name}`]?.version}`,
  )
  const node = runIn(service, ['node', '-p', 'process.versions.node']).trim()
  expect(
    `its bill of materials has ${components.length} parts, and those of the lock`,
    [...wanted, `pkg:generic/node@${node}`].filter((purl) => !purls.has(purl)),
  )
  const installed = Object.entries(lock.packages)
    .filter(
      ([path]) => existsSync(join(inside, path, 'package.json')) && path.includes('node_modules/'),
    )
    .map(
      ([path, it]) =>
        `pkg:npm/${path.split('node_modules/').at(-1)?.replace('@', '%40')}@${it.version}`,
    )
  expect(
    `all ${installed.length} packages in its node_modules are in the bill`,
    installed.filter((purl) => !purls.has(purl)),
  )
}

/** Checks that the service settles from a read-only root, reports its health, and drains on SIGTERM. */
async function checkService(image: Contained): Promise<void> {
  const chain = await startAnvil({ mining: 1 })
  const volume = join(folder, 'volume')
  rmSync(volume, { recursive: true, force: true })
  mkdirSync(volume)
  execFileSync('chown', ['1000:1000', volume])
  const service = { ...image, volume }
  const health: string[] = compose.services.arcus.healthcheck.test.slice(1)
  try {
    await placeContracts(chain.url)
    await mintUsdc(chain.url, devnetPayer.address, 1_000_000n)
    const env = {
      PORT: String(await freePort()),
      MAINNET_RPC_URLS: chain.url,
      RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
      RATE_LIMIT_MAX: '0',
    }
    const running = startIn(service, service.command, env)
    const url = `http://127.0.0.1:${env.PORT}`
    try {
      await untilReady(`${url}/ready`, running)
      say('  ok  the image serves and is ready')
      checkRights(service)
      expect('it keeps its journal in the volume', missing(join(volume, 'arcus.db')))
      expect('it describes itself', (await fetch(`${url}/openapi.json`)).ok ? [] : ['no answer'])
      expect('the health check of Compose passes', fault(service, health, env))
      const elsewhere = { ...env, DATABASE_URL: 'sqlite:/tmp/a.db' }
      expect(
        'the doctor runs in it',
        fault(service, ['node', 'dist/cli/arcus.js', 'doctor'], elsewhere),
      )
      await checkSettling(url, chain.url)
    } finally {
      running.stop()
    }
    const code = await running.exited
    expect('it drains and exits 0 on SIGTERM', code === 0 ? [] : [`exit code ${code}`])
    const stillPasses = fault(service, health, env).length === 0
    expect('the health check fails once it is gone', stillPasses ? ['passed'] : [])
  } finally {
    await chain.stop()
  }
}

/** Checks user, root and capabilities by the words of the kernel. */
function checkRights(service: Contained): void {
  const status = runIn(service, ['cat', '/proc/self/status'])
  const shown = (name: string) => new RegExp(`^${name}:\\s+(\\w+)`, 'm').exec(status)?.[1]
  const wanted = {
    Uid: '1000',
    CapEff: '0000000000000000',
    CapBnd: '0000000000000000',
    NoNewPrivs: '1',
  }
  const wrong = Object.entries(wanted).filter(([name, value]) => shown(name) !== value)
  expect(
    'as user 1000, without capabilities or new rights',
    wrong.map(([name]) => `${name} ${shown(name)}`),
  )
  const isWritable = fault(service, ['touch', '/arcus/x'], {}).length === 0
  expect('its root cannot be written', isWritable ? ['written'] : [])
}

/** Checks that payments settle: by the answers, and by the balance of the merchant on chain. */
async function checkSettling(url: string, chainUrl: string): Promise<void> {
  const payments = await signPayments(PAYMENTS)
  const before = await usdcBalance(chainUrl, devnetMerchant.address)
  const answers: string[] = []
  const settle = async () => {
    for (let next = payments.pop(); next !== undefined; next = payments.pop()) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${url}/settle`, { method: 'POST', headers, body: next.body })
      answers.push(await response.text())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, settle))
  const refused = answers.filter((text) => JSON.parse(text).success !== true)
  expect(`${PAYMENTS} of ${PAYMENTS} payments settle`, refused)
  const paid = (await usdcBalance(chainUrl, devnetMerchant.address)) - before
  expect('the chain has paid each once', paid === BigInt(PAYMENTS) ? [] : [`paid ${paid}`])
}

/** Checks that the devnet runs in its image and settles a payment. */
async function checkDevnet(devnet: Contained): Promise<void> {
  const [port, rpcPort, apiPort] = [await freePort(), await freePort(), await freePort()]
  const ports = ['--port', port, '--rpc-port', rpcPort, '--api-port', apiPort].map(String)
  const home = { HOME: '/home/node' }
  const running = startIn(devnet, [...devnet.command, '--', ...ports], home)
  try {
    await untilReady(`http://127.0.0.1:${port}/ready`, running)
    say('  ok  the devnet starts')
    const chain = `http://127.0.0.1:${rpcPort}`
    const sample = `http://localhost:${apiPort}/quote`
    const paid = runIn(devnet, ['npm', 'run', 'pay', '--', sample, '--rpc', chain], home)
    expect('its buyer pays', /200 OK/.test(paid) ? [] : [paid])
    const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
    expect('its console is there', page.includes('<script') ? [] : [page])
  } finally {
    running.stop()
    await running.exited
  }
}

function missing(path: string): string[] {
  return existsSync(path) ? [] : [path]
}

/** Returns the output of a command that did not end with 0. */
function fault(container: Contained, command: string[], env: Record<string, string>): string[] {
  try {
    runIn(container, command, env)
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

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function expect(claim: string, problems: string[]): void {
  if (problems.length > 0) throw new Error(`failed: ${claim}: ${problems.slice(0, 9).join(', ')}`)
  say(`  ok  ${claim}`)
}
