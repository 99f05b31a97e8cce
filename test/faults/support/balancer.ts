import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, superviseChild } from '../../../src/devnet/process.js'
import { until } from './world.js'

/** HAProxy before several replicas, as `docs/operations.md` shows it. */
export interface Balancer {
  url: string
  /** Returns how many replicas it takes for ready. */
  countUp(): Promise<number>
  close(): Promise<void>
}

const STOP_GRACE_MS = 2_000

export async function startBalancer(haproxy: string, ports: readonly number[]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-haproxy-'))
  const [port, statsPort] = [await freePort(), await freePort()]
  const servers = ports.map((it, i) => `  server arcus${i} 127.0.0.1:${it} check`)
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 90s',
    '  timeout server 90s',
    '  timeout check 5s',
    '  option redispatch',
    'frontend payments',
    `  bind 127.0.0.1:${port}`,
    '  default_backend arcus',
    'backend arcus',
    '  balance roundrobin',
    '  option httpchk GET /ready',
    '  http-check expect status 200',
    '  default-server inter 500ms fall 3 rise 1',
    ...servers,
    'frontend figures',
    `  bind 127.0.0.1:${statsPort}`,
    '  stats enable',
    '  stats uri /',
    '',
  ]
  const path = join(folder, 'haproxy.cfg')
  writeFileSync(path, lines.join('\n'))
  const child = superviseChild(spawn(haproxy, ['-f', path], { stdio: 'ignore' }), STOP_GRACE_MS)

  async function countUp(): Promise<number> {
    const page = await fetch(`http://127.0.0.1:${statsPort}/;csv`).then(
      (answer) => answer.text(),
      () => '',
    )
    return page.split('\n').filter((line) => /^arcus,arcus\d+,/.test(line) && /,UP,/.test(line))
      .length
  }

  const close = async () => {
    await child.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('the balancer is up', async () => (await countUp()) === ports.length, 60_000)
  } catch (error) {
    await close()
    throw error
  }
  return { url: `http://127.0.0.1:${port}`, countUp, close }
}
