import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** What is read here; `docker compose config` checks the form. */
interface Service {
  profiles?: string[]
  build?: { target: string }
  environment?: Record<string, string | number>
  depends_on?: unknown
  command?: string[]
  volumes?: string[]
  healthcheck?: { test: string[] }
}

const { services, secrets } = parse(read('docker-compose.yml')) as {
  services: Record<string, Service>
  secrets: Record<string, object>
}
/** The text of each stage of the image, by its name. */
const stages = new Map(
  read('Dockerfile')
    .split(/^FROM \S+ AS /m)
    .map((text) => [text.split('\n')[0], text]),
)
const known = (name: string) => services[name] as Service

it('has the devnet in the default profile, and the service with its database and watch in production', () => {
  const inProfile = (name: string) =>
    Object.keys(services).filter((it) => known(it).profiles?.includes(name))
  expect(Object.keys(services).filter((it) => known(it).profiles === undefined)).toEqual(['devnet'])
  const watch = ['prometheus', 'alertmanager', 'grafana']
  expect(inProfile('production')).toEqual(['arcus', 'postgres', ...watch])
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

it('waits for a database that answers, of which the address fits', () => {
  const { depends_on: of, environment: set = {} } = known('arcus')
  expect(of).toEqual({ postgres: { condition: 'service_healthy' } })
  expect(known('postgres').healthcheck).toBeDefined()
  const url = new URL(String(set.DATABASE_URL).replace(/\$\{.*\}/, 'secret'))
  const { POSTGRES_USER, POSTGRES_DB } = known('postgres').environment ?? {}
  expect([url.hostname, url.username, url.pathname]).toEqual([
    'postgres',
    POSTGRES_USER,
    `/${POSTGRES_DB}`,
  ])
  expect(set.RELAYER_PRIVATE_KEYS_FILE).toBe(`/run/secrets/${Object.keys(secrets)[0]}`)
})

it('scrapes the service where it listens, and finds its files', () => {
  const scrape = parse(read('deploy/prometheus/prometheus.yml'))
  const targets = scrape.scrape_configs.map(
    (job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]?.targets,
  )
  expect(targets).toEqual([[`arcus:${known('arcus').environment?.PORT}`]])
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
  const { command = [], volumes: mounts = [] } = known('prometheus')
  const [, inside] = (mounts[0] ?? '').split(':')
  expect(command).toContain(`--config.file=${inside}/prometheus.yml`)
})

it('gives services that face the internet no way to write, to gain rights or to dump keys', () => {
  for (const name of ['arcus', 'prometheus', 'alertmanager', 'grafana']) {
    expect(known(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  }
  expect(known('arcus')).toMatchObject({ tmpfs: ['/tmp'], ulimits: { core: 0 } })
  expect(stages.get(known('arcus').build?.target)).toMatch(/^USER node$/m)
})

it('has the health check of the Dockerfile, which images in OCI form do not keep', () => {
  const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(stages.get('service') ?? '') ?? []
  expect(known('arcus').healthcheck?.test).toEqual(['CMD', ...JSON.parse(command)])
})
