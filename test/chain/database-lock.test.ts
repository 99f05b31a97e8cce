import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { freePort } from '../../src/devnet/process.js'
import { type Service, startService } from '../faults/support/service.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'
import { arcus, compiled } from '../support/scripts.js'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'arcus-lock-'))
const path = join(folder, 'data', 'arcus.db')
const relayerKeys = devnetRelayers.slice(0, 1).map(({ privateKey }) => privateKey)

let anvil: Anvil
/** Each test goes on with the service that the one before it left. */
let service: Service
const services: Service[] = []

beforeAll(async () => {
  anvil = await startChain()
})
afterAll(async () => {
  await Promise.all(services.map((it) => it.stop()))
  await anvil.stop()
  rmSync(folder, { recursive: true })
})

async function start(databasePath = path): Promise<Service> {
  const databaseUrl = `sqlite:${databasePath}`
  const port = await freePort()
  const started = await startService({ port, rpcUrls: [anvil.url], relayerKeys, databaseUrl })
  services.push(started)
  return started
}

async function environment(databasePath: string) {
  return {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    MAINNET_RPC_URLS: anvil.url,
    RELAYER_PRIVATE_KEYS: relayerKeys.join(','),
    DATABASE_URL: `sqlite:${databasePath}`,
  }
}

/** Starts a service that must end by itself. */
async function refusal(databasePath: string) {
  const env = await environment(databasePath)
  const child = spawn(process.execPath, [compiled('src/main.ts')], { env })
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const code = await new Promise((resolve) => child.once('exit', resolve))
  clearTimeout(late)
  return { way: databasePath, code, said }
}

it('a second service on a database does not start, by whatever path, and says which process has it', async () => {
  const linkToFile = join(folder, 'link.db')
  const linkToFolder = join(folder, 'elsewhere')
  mkdirSync(join(folder, 'data'))
  // Before there is a file they lead to.
  symlinkSync(path, linkToFile)
  symlinkSync(join(folder, 'data'), linkToFolder)
  service = await start(linkToFile)
  const ways = [path, relative(process.cwd(), path), linkToFile, join(linkToFolder, 'arcus.db')]
  for (const { way, code, said } of await Promise.all(ways.map(refusal))) {
    expect({ way, code }).toEqual({ way, code: 1 })
    expect(said).toMatch(
      /^Arcus cannot start: process \d+ on .+, started \d{4}-.+, works on .*arcus\.db\. Stop that process/,
    )
    expect(said).toContain(`on ${hostname()}`)
    expect(said.trim().split('\n')).toHaveLength(1)
  }
  const pid = /process (\d+)/.exec(readFileSync(`${path}-lock-holder`, 'utf8'))?.[1]
  expect(() => process.kill(Number(pid), 0)).not.toThrow()
  const settled = await fetch(`${service.url}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(await aSignedPayment()),
  })
  expect(await settled.json()).toMatchObject({ success: true })
}, 120_000)

it('a service that was killed leaves no lock behind, and one that ended none either', async () => {
  await service.crash()
  const second = await start()
  await second.stop()
  service = await start()
}, 120_000)

it('the commands of an operator work beside the service', async () => {
  const env = await environment(path)
  const command = (verb: string, ...args: string[]) =>
    run(process.execPath, arcus(verb, ...args), { env })
  const [doctor, , blocks] = await Promise.all([
    command('doctor'),
    command('merchants', 'list'),
    command('merchants', 'blocks'),
  ])
  expect(doctor.stdout).toMatch(/database/i)
  expect(blocks.stdout).toContain('0 blocked')
  const copy = join(folder, 'copy.db')
  expect((await command('backup', copy)).stdout).toContain('Backed up')
  expect((await command('restore', copy, '--to', `sqlite:${copy}.2`)).stdout).toContain('Restored')
  rmSync(path)
  rmSync(`${path}-wal`)
  await expect(command('restore', copy)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Stop the service first: process \d+ on .* works on /),
  })
  // One that works on another file is another service.
  await start(`${copy}.2`)
}, 120_000)
