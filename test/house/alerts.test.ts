import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/metrics/metrics.js'
import { root } from './source-files.js'

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rules: Rule[] = parse(read('deploy/prometheus/alerts.yml')).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
)

/** Names of metrics in an expression: what is neither a function, a word of PromQL, nor a label. */
const metricsIn = (expr: string) =>
  [
    ...expr
      .replace(/\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)/g, '')
      .matchAll(/[a-z_][a-z0-9_]{3,}(?!\w*\()/g),
  ]
    .map(([name]) => name)
    .filter((name) => /^(arcus|nodejs|process)_/.test(name))

it('watches only what /metrics shows', async () => {
  const { text } = await createMetrics(() => Date.now()).render()
  const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const watched = rules.flatMap(({ expr }) => metricsIn(expr))
  expect(watched.length).toBeGreaterThanOrEqual(rules.length - 1)
  const missing = watched.filter((name) => !shown.has(name.replace(/_bucket$/, '')))
  expect(missing).toEqual([])
})

it('has every alert in the runbook, with what to do', () => {
  const runbook = read('docs/operations.md')
  expect(rules.filter(({ alert }) => !runbook.includes(`\`${alert}\``))).toEqual([])
  expect(rules.filter(({ labels }) => !['page', 'ticket'].includes(labels.severity))).toEqual([])
})

it('has every case of the fault suite in the runbook', () => {
  const runbook = read('docs/operations.md')
  const suites = ['crowd', 'disk', 'key-rotation', 'kill', 'lanes', 'rpc']
  expect(suites.filter((name) => !runbook.includes(`test/faults/${name}.test.ts`))).toEqual([])
})
