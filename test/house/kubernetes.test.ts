import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { Service } from 'kubernetes-models/v1/Service'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { variableNames } from '../../src/config/env.js'
import { root } from './source-files.js'

const folder = join(root, 'deploy/kubernetes')

interface Resource {
  apiVersion: string
  kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the models judge the shape
  [member: string]: any
}

function read(file: string): Resource {
  const text = readFileSync(join(folder, file), 'utf8')
  const document = parseDocument(text, { strict: true, uniqueKeys: true })
  expect([...document.errors, ...document.warnings], file).toEqual([])
  return document.toJS()
}

/** Each model checks a resource against the OpenAPI schema of Kubernetes, or of the Prometheus Operator. */
const models: Record<string, new (data: never) => { validate(): void }> = {
  Deployment,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceMonitor,
}

function validate(resource: Resource): void {
  const model = models[resource.kind]
  if (model === undefined) throw new Error(`no schema of ${resource.kind}`)
  new model(structuredClone(resource) as never).validate()
}

const kustomization = read('kustomization.yaml')
const files = readdirSync(folder).filter((file) => file !== 'kustomization.yaml')
const resources = new Map(files.map((file) => [file, read(file)]))
const settings = new Map(
  (kustomization.configMapGenerator[0].literals as string[]).map((literal) => {
    const [name = '', ...value] = literal.split('=')
    return [name, value.join('=')] as const
  }),
)
const { spec } = resources.get('deployment.yaml') as Resource
const pod = spec.template.spec
const [container] = pod.containers

describe('deploy/kubernetes', () => {
  it('names every file of the folder, and no other', () => {
    expect([...kustomization.resources].sort()).toEqual(files.sort())
  })

  it.each(files)('has %s as its schema demands', (file) => {
    const resource = resources.get(file) as Resource
    validate(resource)
    expect(() => validate({ ...resource, metadata: 'arcus' })).toThrow()
  })

  it('selects the same pods everywhere', () => {
    const labels = spec.template.metadata.labels
    const of = (file: string) => resources.get(`${file}.yaml`) as Resource
    expect(spec.selector.matchLabels).toEqual(labels)
    expect(of('service').spec.selector).toEqual(labels)
    expect(of('service').metadata.labels).toEqual(of('service-monitor').spec.selector.matchLabels)
    expect(of('pod-disruption-budget').spec.selector.matchLabels).toEqual(labels)
    expect(of('network-policy').spec.podSelector.matchLabels).toEqual(labels)
    expect(pod.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(labels)
  })

  it('sets only settings of the service, and no secret among them', () => {
    const set = [...settings.keys(), ...container.env.map(({ name }: { name: string }) => name)]
    const known: readonly string[] = [...variableNames, 'NODE_ENV']
    expect(set.filter((name) => !known.includes(name))).toEqual([])
    expect(
      set.filter((name) => settings.has(name) && /KEY|PASSWORD|DATABASE_URL/.test(name)),
    ).toEqual([])
  })

  it('gives a replica the time to leave: noticed, answered, closed', () => {
    const seconds = (name: string) => Number(settings.get(name))
    const { periodSeconds, timeoutSeconds, failureThreshold } = container.readinessProbe
    const noticed = (periodSeconds + timeoutSeconds) * failureThreshold
    expect(seconds('DRAIN_DELAY_SECONDS')).toBeGreaterThanOrEqual(noticed)
    const leaving = seconds('DRAIN_DELAY_SECONDS') + seconds('SETTLE_WAIT_SECONDS') + 15
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(leaving)
  })

  it('takes no replica away before its successor is ready', () => {
    expect(spec.replicas).toBe(3)
    expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
    expect(container.readinessProbe.httpGet.path).toBe('/ready')
    for (const probe of ['livenessProbe', 'startupProbe']) {
      // A node or database that is away must not end the process.
      expect(container[probe].httpGet.path).toBe('/health')
    }
  })
})
