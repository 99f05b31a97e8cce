import { expect, it } from 'vitest'
import type { ServerFacts } from '../../../../src/app/doctor/inspection.js'
import { checkDatabase } from '../../../../src/app/doctor/settings-checks.js'

const whole = {
  database: { kind: 'postgres', url: 'postgres://a@b/c', poolSize: 10 },
  only: undefined,
} as const
const good: ServerFacts = {
  version: '16.4',
  majorVersion: 16,
  isDurable: true,
  maxConnections: 97,
  live: { facilitator: 2, directory: 2 },
  isEncrypted: true,
  isPooled: false,
  timeouts: { idleInTransactionMs: 0, statementMs: 0 },
  clockAhead: { least: -3, most: 4 },
}

function troubles(
  changes: Partial<ServerFacts>,
  config: Parameters<typeof checkDatabase>[1] = whole,
) {
  const server = { ...good, ...changes }
  const versions = { version: 1, wantedVersion: 1 }
  const inspection = { state: 'writable', ...versions, server, async close() {} } as const
  return checkDatabase(inspection, config)
    .filter(({ state }) => state !== 'ok')
    .map(({ state, name, detail }) => `${state} ${name}: ${detail}`)
}

it('finds nothing wrong with a sound server', () => {
  expect(troubles({})).toEqual([])
})

it.each<[string, Partial<ServerFacts>, string]>([
  ['old', { version: '13.9', majorVersion: 13 }, 'fail server: PostgreSQL 13.9, with TLS'],
  ['forgetful', { isDurable: false }, 'warn durability: synchronous_commit or fsync is off'],
  [
    'without room to restart in turn',
    { maxConnections: 77 },
    'warn connections: those that live take up to 52 of 77 (2 facilitators of 11, 2 directories of 15); this process takes up to 26',
  ],
  [
    'too small for its replicas',
    { maxConnections: 51 },
    'fail connections: those that live take up to 52 of 51',
  ],
  [
    'behind this machine',
    { clockAhead: { least: 6_990, most: 7_020 } },
    'warn clock of the database: this machine is 7.0 s ahead of the database',
  ],
  [
    'ahead of this machine',
    { clockAhead: { least: -30_020, most: -29_960 } },
    'warn clock of the database: this machine is 30.0 s behind the database',
  ],
  [
    'behind a pooler without limits of time',
    { isPooled: true },
    'warn pooler: a pooler is in between: statements are not prepared, and no limit',
  ],
])('says of a server that is %s what is wrong', (_, changes, said) => {
  const found = troubles(changes)
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(said)
})

it('counts what a process of one half would take', () => {
  const live = { facilitator: 3, directory: 2 }
  const alone = { ...whole, only: 'facilitator' } as const
  expect(troubles({ live, maxConnections: 74 }, alone)).toEqual([])
  expect(troubles({ live, maxConnections: 73 }, alone)).toEqual([
    'warn connections: those that live take up to 63 of 73 (3 facilitators of 11, 2 directories of 15); this process takes up to 11',
  ])
})

it('is content with a pooler if the role has its limits', () => {
  const timeouts = { idleInTransactionMs: 3_000, statementMs: 10_000 }
  expect(troubles({ isPooled: true, timeouts })).toEqual([])
})

it('says that it cannot see the disk of a server, and how large the database is', () => {
  const sizes = { version: 1, wantedVersion: 1, sizeBytes: 3 * 1024 ** 3 }
  const inspection = { state: 'writable', ...sizes, server: good, async close() {} } as const
  const disk = checkDatabase(inspection, whole).find(({ name }) => name === 'disk')
  expect(disk?.detail).toBe(
    'the database has 3.0 GiB; the disk of the server cannot be seen from here: watch it there',
  )
})
