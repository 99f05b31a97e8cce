import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/app/metrics/metrics.js'
import { root } from './source-files.js'

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: Record<string, string>
}

interface Recording {
  record: string
  expr: string
}

interface Panel {
  id: number
  targets: { expr: string }[]
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const all: (Rule | Recording)[] = parse(read('deploy/prometheus/alerts.yml')).groups.flatMap(
  ({ rules }: { rules: (Rule | Recording)[] }) => rules,
)
const rules = all.filter((rule): rule is Rule => 'alert' in rule)
const recordings = all.filter((rule): rule is Recording => 'record' in rule)
const dashboard: { uid: string; panels: Panel[] } = JSON.parse(
  read('deploy/grafana/dashboards/arcus.json'),
)
const expressions = [
  ...all.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
]

/** Names of metrics in an expression: what is neither a function, a word of PromQL, nor a label. */
const metricsIn = (expr: string) =>
  [
    ...expr
      .replace(/\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)/g, '')
      .matchAll(/[a-z_][a-z0-9_]{3,}(?!\w*\()/g),
  ]
    .map(([name]) => name)
    .filter((name) => /^(arcus|nodejs|process)_/.test(name))

/** The names of all metrics that the service shows. */
async function shownMetrics(): Promise<Set<string>> {
  const metrics = createMetrics(() => Date.now())
  metrics.watchDirectory({
    isUp: () => true,
    restarts: () => 3,
    figures: () => ({
      index: { endpoints: 0, readSeconds: 0 },
      probes: { queued: 0, underWay: 0 },
      checks: {
        byReason: [],
        own: [{ reason: 'delivered', at: 1 }],
        ownPauseSeconds: 1,
        funded: 1,
      },
    }),
  })
  metrics.watchActivity(() => 0)
  metrics.watchScreeningList(() => ({ addresses: 1, hash: '', writtenAt: 0, isBroken: false }))
  metrics.watchDatabase({
    store: 'sqlite',
    isWritable: async () => true,
    sizeBytes: async () => 0,
  })
  metrics.watchLeases({ ageMs: () => 0, clockAhead: () => ({ least: 0, most: 0 }) })
  metrics.watchDisk({ isLow: () => false, freeBytes: () => 0 })
  const { text } = await metrics.render()
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''))
}

it('watches and draws only what /metrics shows', async () => {
  const shown = await shownMetrics()
  const watched = expressions.flatMap(metricsIn)
  expect(watched.length).toBeGreaterThanOrEqual(rules.length)
  const missing = watched.filter((name) => !shown.has(name.replace(/_(bucket|count)$/, '')))
  expect(missing).toEqual([])
})

it('reads only ratios that a rule records', () => {
  const recorded = recordings.map(({ record }) => record)
  const used = expressions.flatMap((expr) => expr.match(/arcus:[\w:]+/g) ?? [])
  expect(used.length).toBeGreaterThan(0)
  expect(used.filter((name) => !recorded.includes(name))).toEqual([])
})

it('leads from each alert to a panel of the dashboard and to a line of the runbook', () => {
  const runbook = read('docs/operations.md')
  const panels = dashboard.panels.map(({ id }) => id)
  expect(new Set(panels).size).toBe(panels.length)
  for (const { alert, labels, annotations } of rules) {
    const { summary = '', panel_url = '', runbook_url = '' } = annotations
    expect(summary, alert).toMatch(/\.$/)
    const panel = /^\{\{ \$externalLabels\.grafana \}\}\/d\/(\w+)\/\w+\?viewPanel=(\d+)$/.exec(
      panel_url,
    )
    expect(panel?.[1], alert).toBe(dashboard.uid)
    expect(panels, alert).toContain(Number(panel?.[2]))
    const anchor = /^\{\{ \$externalLabels\.runbook \}\}#(\w+)$/.exec(runbook_url)?.[1]
    const severity = labels.severity
    expect(runbook, alert).toContain(`| <a id="${anchor}"></a>\`${alert}\` ${severity} |`)
    expect(['page', 'ticket', 'none'], alert).toContain(severity)
  }
})

it('has every case of the fault suite in the runbook', () => {
  const runbook = read('docs/operations.md')
  const suites = [
    'alerting',
    'crowd',
    'directory-thread',
    'disk',
    'key-rotation',
    'kill',
    'lanes',
    'rpc',
  ]
  expect(suites.filter((name) => !runbook.includes(`test/faults/${name}.test.ts`))).toEqual([])
})
