import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { parseDockerfile } from './dockerfile.js'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const duration = z.string().regex(/^\d+(ms|s|m|h)$/)
const names = z.record(z.string(), z.unknown())

/** The part of the Compose Specification in use here. Anything else is refused, so that a misspelt key is noticed. */
const service = z.strictObject({
  profiles: z.array(z.string()).optional(),
  build: z.strictObject({ context: z.string(), target: z.string() }).optional(),
  image: z.string().optional(),
  init: z.boolean().optional(),
  restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']).optional(),
  stop_grace_period: duration.optional(),
  env_file: z.string().optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  secrets: z.array(z.string()).optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).optional(),
  depends_on: z
    .union([
      z.array(z.string()),
      z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })),
    ])
    .optional(),
  command: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: duration,
      timeout: duration,
      retries: z.int().positive(),
    })
    .optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  ulimits: z.record(z.string(), z.int().nonnegative()).optional(),
})
const compose = z.strictObject({
  services: z.record(z.string(), service),
  volumes: names,
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
})

const document = parseDocument(read('docker-compose.yml'), { strict: true, uniqueKeys: true })
const { services, volumes, secrets } = compose.parse(document.toJS())
const list = Object.entries(services)
const stages = parseDockerfile(read('Dockerfile'))
const known = (name: string) => services[name] as z.infer<typeof service>
const needs = ({ depends_on: of }: z.infer<typeof service>) =>
  of === undefined ? [] : Array.isArray(of) ? of : Object.keys(of)

it('is YAML without a fault, of keys that Compose knows', () => {
  expect([...document.errors, ...document.warnings]).toEqual([])
})

it('has the devnet in the default profile, and the service with its database and watch in production', () => {
  const inProfile = (name: string) =>
    list.filter(([, { profiles }]) => profiles?.includes(name)).map(([it]) => it)
  const always = list.filter(([, { profiles }]) => profiles === undefined).map(([it]) => it)
  expect(always).toEqual(['devnet'])
  const watch = ['prometheus', 'alertmanager', 'grafana']
  expect(inProfile('production')).toEqual(['arcus', 'postgres', ...watch])
  expect(inProfile('canary')).toEqual(['canary'])
})

it('builds stages there are, and names an image for every other service', () => {
  const targets = stages.map(({ name }) => name)
  for (const [name, { build, image }] of list) {
    expect(
      [build, image].filter((it) => it !== undefined),
      name,
    ).toHaveLength(1)
    if (build !== undefined) expect(targets).toContain(build.target)
    // A tag, which `latest` is not; the variable lets a digest take its place.
    if (image !== undefined) expect(image).toMatch(/^\$\{[A-Z_]+:-[\w/]+:[\w.-]*\d[\w.-]*\}$/)
  }
})

it('refers to nothing that is not there', () => {
  // A path that a variable can replace is read as its default.
  const plain = (text: string) => text.replace(/\$\{\w+:-([^}]+)\}/, '$1')
  const used = list.flatMap(([, { volumes: own = [] }]) =>
    own.map((it) => plain(it).split(':')[0] ?? ''),
  )
  const [paths, named] = [
    used.filter((it) => /^[./]/.test(it)),
    used.filter((it) => /^\w/.test(it)),
  ]
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(named.filter((name) => !(name in volumes))).toEqual([])
  expect(Object.keys(volumes).filter((name) => !named.includes(name))).toEqual([])
  const told = list.flatMap(([, it]) => it.secrets ?? [])
  expect(told).toEqual(Object.keys(secrets))
  for (const [name, it] of list) {
    for (const needed of needs(it)) {
      expect(known(needed)?.profiles, `${name} needs ${needed}`).toEqual(it.profiles)
    }
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
  const scrape = parseDocument(read('deploy/prometheus/prometheus.yml')).toJS()
  const targets = scrape.scrape_configs.map(
    (job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]?.targets,
  )
  const port = known('canary').command?.at(-1)
  expect(targets).toEqual([[`arcus:${known('arcus').environment?.PORT}`], [`canary:${port}`]])
  const [alertmanager] = scrape.alerting.alertmanagers[0].static_configs[0].targets
  expect(alertmanager).toBe('alertmanager:9093')
  const receivers = parseDocument(read('deploy/alertmanager/alertmanager.yml')).toJS()
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

it('gives who faces strangers no way to write, to gain rights or to dump keys', () => {
  for (const name of ['arcus', 'prometheus', 'alertmanager', 'grafana', 'canary']) {
    expect(known(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  }
  expect(known('arcus')).toMatchObject({ tmpfs: ['/tmp'], ulimits: { core: 0 } })
  const service = stages.find((stage) => stage.name === known('arcus').build?.target)
  const words = service?.instructions.map(({ name, text }) => `${name} ${text}`) ?? []
  expect(words).toContain('USER node')
  expect(words.some((it) => it.startsWith('HEALTHCHECK'))).toBe(true)
})

it('has the health check of the Dockerfile, which images in OCI form do not keep', () => {
  const instructions = stages.find(({ name }) => name === 'service')?.instructions ?? []
  const text = instructions.find(({ name }) => name === 'HEALTHCHECK')?.text ?? ''
  const command = JSON.parse(text.slice(text.indexOf('[')))
  expect(known('arcus').healthcheck?.test).toEqual(['CMD', ...command])
})
