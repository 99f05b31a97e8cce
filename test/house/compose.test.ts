import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** What is read here; `docker compose config` checks the form. */
interface Service {
  profiles?: string[]
  image?: string
  build?: { target: string }
  environment?: Record<string, string | number>
  env_file?: string
  depends_on?: unknown
  command?: string[]
  volumes?: string[]
  ports?: string[]
  healthcheck?: { test: string[] }
}

interface ComposeFile {
  services: Record<string, Service>
  secrets?: Record<string, object>
}

const base: ComposeFile = parse(read('docker-compose.yml'))
const production: ComposeFile = parse(read('deploy/docker-compose.production.yml'))
/** The ways of `docker compose -f docker-compose.yml` with and without the second file. */
const ways = { alone: [base], 'with PostgreSQL and the watch': [base, production] }
/** The text of each stage of the image, by its name. */
const stages = new Map(
  read('Dockerfile')
    .split(/^FROM \S+ AS /m)
    .map((text) => [text.split('\n')[0], text]),
)

/** Merges the files as Compose does, as far as it matters here. */
function servicesOf(files: readonly ComposeFile[]): Record<string, Service> {
  const merged: Record<string, Service> = {}
  for (const { services } of files) {
    for (const [name, service] of Object.entries(services)) {
      const before = merged[name]
      const environment = { ...before?.environment, ...service.environment }
      merged[name] = { ...before, ...service, environment }
    }
  }
  return merged
}

/** A service without a profile always starts; one that is named on the command line starts without the others. */
function started(services: Record<string, Service>, profiles: readonly string[]): string[] {
  return Object.entries(services)
    .filter(([, { profiles: own }]) => own === undefined || own.some((it) => profiles.includes(it)))
    .map(([name]) => name)
}

describe.each(Object.entries(ways))('docker compose %s', (_, files) => {
  const services = servicesOf(files)

  it('starts no two things on one port of this machine, whatever profiles are named', () => {
    for (const profiles of [[], ['devnet'], ['production'], ['devnet', 'production']]) {
      const ports = started(services, profiles).flatMap((name) =>
        (services[name]?.ports ?? []).map((it) => it.split(':').slice(0, -1).join(':')),
      )
      expect(new Set(ports).size).toBe(ports.length)
    }
  })

  it('starts the service and never the devnet, unless that is asked for', () => {
    expect(started(services, [])).toContain('arcus')
    expect(started(services, ['production'])).not.toContain('devnet')
    expect(started(services, ['devnet'])).toContain('devnet')
  })

  it('gives the devnet no setting of the operator, and the service no play key', () => {
    expect(services.devnet?.env_file).toBeUndefined()
    expect(services.arcus?.env_file).toBe('.env')
    expect(JSON.stringify(services.arcus)).not.toContain('DEVNET')
  })

  it('builds stages there are, and mounts files there are', () => {
    for (const { build, volumes = [] } of Object.values(services)) {
      if (build !== undefined) expect([...stages.keys()]).toContain(build.target)
      // A path that a variable can replace is read as its default.
      const paths = volumes
        .map((it) => it.replace(/\$\{\w+:-([^}]+)\}/, '$1').split(':')[0] ?? '')
        .filter((it) => /^[./]/.test(it))
      expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
    }
  })
})

it('waits for a database that answers, of which the address fits', () => {
  const { arcus, postgres } = servicesOf([base, production])
  expect(arcus?.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
  expect(postgres?.healthcheck).toBeDefined()
  const url = new URL(String(arcus?.environment?.DATABASE_URL).replace(/\$\{.*\}/, 'secret'))
  const { POSTGRES_USER, POSTGRES_DB } = postgres?.environment ?? {}
  expect([url.hostname, url.username, url.pathname]).toEqual([
    'postgres',
    POSTGRES_USER,
    `/${POSTGRES_DB}`,
  ])
  const [secret] = Object.keys(base.secrets ?? {})
  expect(arcus?.environment?.RELAYER_PRIVATE_KEYS_FILE).toBe(`/run/secrets/${secret}`)
})

it('scrapes the service where it listens, and finds its files', () => {
  const scrape = parse(read('deploy/prometheus/prometheus.yml'))
  const targets = scrape.scrape_configs.map(
    (job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]?.targets,
  )
  expect(targets).toEqual([[`arcus:${base.services.arcus?.environment?.PORT}`]])
  const [alertmanager] = scrape.alerting.alertmanagers[0].static_configs[0].targets
  expect(alertmanager).toBe('alertmanager:9093')
  const receivers = parse(read('deploy/alertmanager/alertmanager.yml'))
  const named = receivers.receivers.map(({ name }: { name: string }) => name)
  const routed = receivers.route.routes.map(({ receiver }: { receiver: string }) => receiver)
  expect([receivers.route.receiver, ...routed].sort()).toEqual(named.sort())
  const absent = scrape.rule_files.filter(
    (file: string) => !existsSync(join(root, 'deploy/prometheus', file)),
  )
  expect(absent).toEqual([])
  const { command = [], volumes: mounts = [] } = production.services.prometheus ?? {}
  const [, inside] = (mounts[0] ?? '').split(':')
  expect(command).toContain(`--config.file=${inside}/prometheus.yml`)
})

it('gives services that face the internet no way to write, to gain rights or to dump keys', () => {
  const services = servicesOf([base, production])
  for (const name of ['arcus', 'prometheus', 'alertmanager', 'grafana']) {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  }
  expect(services.arcus).toMatchObject({ tmpfs: ['/tmp'], ulimits: { core: 0 } })
  expect(stages.get(services.arcus?.build?.target)).toMatch(/^USER node$/m)
})

it('has the health check of the Dockerfile, which images in OCI form do not keep', () => {
  const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(stages.get('service') ?? '') ?? []
  expect(base.services.arcus?.healthcheck?.test).toEqual(['CMD', ...JSON.parse(command)])
})
