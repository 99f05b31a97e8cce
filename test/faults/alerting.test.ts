import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createMetrics } from '../../src/app/metrics/metrics.js'
import { freePort, superviseChild } from '../../src/devnet/process.js'
import { findProgram } from './support/debian.js'
import { until } from './support/world.js'

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url))
const programs = ['prometheus', 'promtool', 'prometheus-alertmanager', 'amtool']
const isMissing = programs.some((name) => findProgram(name) === undefined)
if (isMissing) {
  process.stderr.write('test/faults/alerting.test.ts is skipped: no Prometheus, no Alertmanager\n')
}

const run = promisify(execFile)
/** Notifications take some seconds on a quiet machine. */
const PATIENCE_MS = 60_000

interface Notification {
  status: 'firing' | 'resolved'
  alerts: { status: string; labels: Record<string, string>; annotations: Record<string, string> }[]
  groupLabels: Record<string, string>
}

describe.skipIf(isMissing)('the rules of deploy', () => {
  it('are read by promtool and amtool, and fire as their own tests say', async () => {
    const inDeploy = { cwd: deploy }
    await run('promtool', ['check', 'rules', 'prometheus/alerts.yml'], inDeploy)
    await run('promtool', ['check', 'config', 'prometheus/prometheus.yml'], inDeploy)
    await run('promtool', ['test', 'rules', 'prometheus/alerts.test.yml'], inDeploy)
    await run('amtool', ['check-config', 'alertmanager/alertmanager.yml'], inDeploy)
  })
})

describe.skipIf(isMissing)('Prometheus and Alertmanager', () => {
  let folder: string
  const closing: (() => unknown)[] = []
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'arcus-alerting-'))
    cpSync(deploy, folder, { recursive: true })
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  async function listen(server: Server): Promise<number> {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    closing.push(() => {
      server.close()
      server.closeAllConnections()
    })
    return (server.address() as AddressInfo).port
  }

  /** A replica, of which nothing runs but its figures. Both have the same wallet. */
  async function startReplica(lane: { closed: string | undefined }): Promise<string> {
    const metrics = createMetrics(() => Date.now())
    const address = `0x${'11'.repeat(20)}` as const
    metrics.watch({
      network: 'eip155:5042',
      relayer: {
        addresses: [address],
        lanes: () => [
          {
            address,
            closedBecause: () => lane.closed,
            holder: () => 'here',
            inFlight: () => 0,
            pendingMs: () => 0,
          },
        ],
        queueLength: () => 0,
      },
      chainSeconds: () => Date.now() / 1000,
      readBalances: async () => [10n ** 19n],
      readRunway: async () => 90,
    })
    const server = createServer(async (_, response) => {
      const { contentType, text } = await metrics.render()
      response.writeHead(200, { 'content-type': contentType }).end(text)
    })
    return `127.0.0.1:${await listen(server)}`
  }

  /** Changes a file of `deploy` in the copy; each text must be there. */
  function edit(path: string, changes: readonly (readonly [RegExp, string])[]): void {
    let text = readFileSync(join(folder, path), 'utf8')
    for (const [found, replacement] of changes) {
      expect(text, `${path} has ${found}`).toMatch(found)
      text = text.replaceAll(found, replacement)
    }
    writeFileSync(join(folder, path), text)
  }

  function start(program: string, args: string[]): void {
    const child = spawn(program, args, { cwd: folder, stdio: 'ignore' })
    const { stop } = superviseChild(child, 5_000)
    closing.push(stop)
  }

  it('bring one trouble of two replicas to a person once, and say when it is over', async () => {
    const received: { receiver: string; body: Notification }[] = []
    const person = createServer(async (request, response) => {
      let text = ''
      for await (const piece of request) text += piece
      received.push({ receiver: request.url ?? '', body: JSON.parse(text) })
      response.end()
    })
    const webhook = `http://127.0.0.1:${await listen(person)}`
    const lane: { closed: string | undefined } = { closed: 'no gas money' }
    const replicas = [await startReplica(lane), await startReplica(lane)]
    const [alertmanager, prometheus] = [await freePort(), await freePort()]

    // The same files, with addresses of this machine, and seconds for minutes.
    edit('prometheus/prometheus.yml', [
      [/(scrape|evaluation)_interval: 15s/g, '$1_interval: 1s'],
      [/\[arcus:4021\]/g, `[${replicas.map((it) => `"${it}"`).join(', ')}]`],
      [/\[alertmanager:9093\]/g, `["127.0.0.1:${alertmanager}"]`],
    ])
    // The ticket waits longer than the page that silences it, as it does in minutes.
    edit('prometheus/alerts.yml', [
      [/for: \w+/g, 'for: 1s'],
      [/(alert: ArcusLaneClosed\n.*\n +for:) 1s/g, '$1 10s'],
    ])
    edit('alertmanager/alertmanager.yml', [
      [/http:\/\/localhost:9/g, webhook],
      [/group_wait: \w+/g, 'group_wait: 1s'],
      [/group_interval: \w+/g, 'group_interval: 2s'],
    ])
    start('prometheus-alertmanager', [
      `--config.file=${join(folder, 'alertmanager/alertmanager.yml')}`,
      `--storage.path=${join(folder, 'alertmanager/data')}`,
      `--web.listen-address=127.0.0.1:${alertmanager}`,
      '--cluster.listen-address=',
    ])
    start('prometheus', [
      `--config.file=${join(folder, 'prometheus/prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'prometheus/data')}`,
      `--web.listen-address=127.0.0.1:${prometheus}`,
      // Alertmanager may listen later than the first alert is sent.
      '--rules.alert.resend-delay=1s',
    ])

    const about = (alertname: string, receiver: string) =>
      received
        .filter((it) => it.receiver === receiver)
        .flatMap(({ body }) => (body.groupLabels.alertname === alertname ? body : []))
    await until(
      'the person is told, and the watchdog is heard',
      async () =>
        about('ArcusNoLaneOpen', '/page').length > 0 &&
        about('ArcusWatchdog', '/watchdog').length > 0,
      PATIENCE_MS,
    )
    const [told] = about('ArcusNoLaneOpen', '/page')
    expect(told?.alerts).toMatchObject([
      {
        status: 'firing',
        labels: { network: 'eip155:5042', severity: 'page' },
        annotations: {
          summary: 'No relayer takes payments on eip155:5042.',
          panel_url: 'http://localhost:3000/d/arcus/arcus?viewPanel=6',
          runbook_url: 'docs/operations.md#arcusnolaneopen',
        },
      },
    ])

    lane.closed = undefined
    const isOver = ({ status }: Notification) => status === 'resolved'
    await until(
      'the person is told that it is over',
      async () => about('ArcusNoLaneOpen', '/page').some(isOver),
      PATIENCE_MS,
    )
    const all = about('ArcusNoLaneOpen', '/page')
    expect(all.map(({ alerts }) => alerts.length)).toEqual(all.map(() => 1))
    expect(all.filter(({ status }) => status === 'firing')).toHaveLength(1)
    // The page names the trouble already.
    expect(about('ArcusLaneClosed', '/ticket')).toEqual([])
  })
})
