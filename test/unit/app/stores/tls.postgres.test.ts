import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseDatabaseUrl } from '../../../../src/app/config/setting-types.js'
import { inspectPostgres } from '../../../../src/app/doctor/postgres-inspection.js'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import { findProgram } from '../../../faults/support/debian.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'

const openssl = findProgram('openssl')
const folder = mkdtempSync(join(tmpdir(), 'arcus-tls-'))
const ca = join(folder, 'ca.crt')
let server: PostgresServer
let url: string

describe.skipIf(openssl === undefined)('a PostgreSQL with TLS (skipped without openssl)', () => {
  beforeAll(async () => {
    makeCertificates()
    server = await startPostgres({
      prepare(data, owner) {
        for (const name of ['server.crt', 'server.key']) {
          const path = join(data, name)
          copyFileSync(join(folder, name), path)
          chmodSync(path, 0o600)
          if (owner !== undefined) chownSync(path, owner, owner)
        }
        return ['ssl=on']
      },
    })
    url = await server.createDatabase()
  })
  afterAll(async () => {
    await server?.close()
    rmSync(folder, { recursive: true })
  })

  const over = (query: string) => `${url.replace('127.0.0.1', 'localhost')}?${query}`

  it('is used by every part, with the certificate of its own authority, and without a warning', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    for (const mode of ['require', 'verify-full', 'prefer']) {
      const place = over(`sslmode=${mode}&sslrootcert=${ca}`)
      const stores = await openPostgresStores({ url: place, poolSize: 2 })
      await stores.leases.beat()
      expect(await stores.journal.isWritable()).toBe(true)
      await stores.close()
      const { server: facts, close } = await inspectPostgres(place)
      expect(facts?.isEncrypted).toBe(true)
      await close()
    }
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', note)
    expect(warnings.map(({ message }) => message)).toEqual([])
  })

  it('is refused if its certificate is not signed by anybody known, unless that is said', async () => {
    const unknown = await inspectPostgres(over('sslmode=require'))
    expect(unknown).toMatchObject({ state: 'unusable' })
    expect(unknown.problem).toMatch(/certificate/)
    await unknown.close()
    const unchecked = await inspectPostgres(over('sslmode=no-verify'))
    expect(unchecked).toMatchObject({ state: 'writable', server: { isEncrypted: true } })
    await unchecked.close()
  })

  it('whose authority is in a file that is not there is a problem of the settings', () => {
    const missing = join(folder, 'missing.crt')
    const problem = parseDatabaseUrl(over(`sslmode=verify-full&sslrootcert=${missing}`))
    expect(problem).toBe('names a file in sslrootcert that cannot be read (ENOENT)')
  })
})

function makeCertificates(): void {
  const run = (...args: string[]) =>
    execFileSync(openssl as string, args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const forCa = ['-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=Arcus test authority']
  run('req', '-x509', ...key, ...forCa, '-days', '2')
  run('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost')
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names']
  run('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt', '-days', '2')
}
