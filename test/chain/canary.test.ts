import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { startWorld, type World } from '../support/arcus.js'
import { arcus } from '../support/scripts.js'

const keys = ['a1', 'b2'].map((byte): Hex => `0x${byte.repeat(32)}`)
const [first, second] = keys.map((key) => privateKeyToAccount(key).address) as [Hex, Hex]

let world: World
let folder: string
beforeAll(async () => {
  world = await startWorld()
  await mintUsdc(world.chainUrl, first, 1_000_000n)
  folder = mkdtempSync(join(tmpdir(), 'arcus-canary-'))
})
afterAll(async () => {
  await world?.stop()
  rmSync(folder, { recursive: true })
})

function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, arcus('canary', ...args), {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      BASE_URL: world.url,
      MAINNET_RPC_URLS: world.chainUrl,
      CANARY_PRIVATE_KEYS: keys.join(','),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, text }))
  return { child, ended }
}

const balances = () => Promise.all([first, second].map((it) => usdcBalance(world.chainUrl, it)))
const figure = (page: string, name: string) =>
  Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(page)?.[1])

describe('arcus canary', () => {
  it('moves a cent from the richer wallet, writes its figures, and says 0', async () => {
    const file = join(folder, 'canary.prom')
    const { code, text } = await start(['--textfile', file]).ended
    expect(text).toMatch(/settled in 0x[0-9a-f]{64} {2}\(verify [\d.]+ s, settle [\d.]+ s\)/)
    expect(code).toBe(0)
    expect(await balances()).toEqual([990_000n, 10_000n])
    const page = readFileSync(file, 'utf8')
    expect(figure(page, 'arcus_canary_up')).toBe(1)
    const succeededAt = figure(page, 'arcus_canary_success_timestamp_seconds')
    expect(Math.abs(succeededAt - Date.now() / 1000)).toBeLessThan(120)
    expect(figure(page, 'arcus_canary_seconds{step="settle"}')).toBeGreaterThan(0)

    // A failure keeps the time of the last success, which the alert reads.
    const failed = await start(['--textfile', file, '--url', 'http://127.0.0.1:9']).ended
    expect(failed.text).toContain('not settled: fetch failed')
    expect(failed.code).toBe(1)
    const after = readFileSync(file, 'utf8')
    expect(figure(after, 'arcus_canary_up')).toBe(0)
    expect(figure(after, 'arcus_canary_success_timestamp_seconds')).toBe(succeededAt)
    expect(after).not.toContain('arcus_canary_seconds{')
  })

  it('says what is wrong when no wallet holds a cent, and when verify refuses', async () => {
    const poor = ['c3', 'd4'].map((byte) => `0x${byte.repeat(32)}`).join(',')
    const empty = await start([], { CANARY_PRIVATE_KEYS: poor }).ended
    expect(empty).toMatchObject({ code: 1, text: expect.stringContaining('neither wallet holds') })
    const unset = await start([], { CANARY_PRIVATE_KEYS: keys[0] as string }).ended
    expect(unset).toMatchObject({ code: 1, text: expect.stringContaining('CANARY_PRIVATE_KEYS') })
    expect(unset.text).not.toContain('a1a1')
    expect((await start(['--every', '1']).ended).code).toBe(2)
  })

  it('pays again and again, shows its figures, and ends on SIGTERM', async () => {
    const port = await freePort()
    const { child, ended } = start(['--every', '10', '--port', String(port)])
    await vi.waitFor(
      async () => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
        expect(figure(page, 'arcus_canary_payments_total{outcome="settled"}')).toBeGreaterThan(0)
      },
      { timeout: 60_000, interval: 100 },
    )
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })
})
