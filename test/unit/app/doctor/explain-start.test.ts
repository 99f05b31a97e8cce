import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ConfigError } from '../../../../src/app/config/env.js'
import { explainStart } from '../../../../src/app/doctor/explain-start.js'
import { openStores } from '../../../../src/app/stores/open-stores.js'
import { TokenMismatchError } from '../../../../src/chain/token.js'
import { lockForService } from '../../../../src/sql/sqlite/service-lock.js'

const root = mkdtempSync(join(tmpdir(), 'arcus-explain-'))
// The lock of a path is beside it: everything is within one folder.
const folder = join(root, 'data')
mkdirSync(folder)
afterAll(() => rmSync(root, { recursive: true }))

const listening = (host: string) =>
  new Promise((_, reject) => createServer().once('error', reject).listen(0, host))

/** As the service does. */
async function open(path: string): Promise<void> {
  const release = lockForService(path)
  try {
    await openStores({ kind: 'sqlite', path })
  } finally {
    release()
  }
}

it.each([
  ['a folder', () => folder, 'unable to open database file'],
  ['a file of something else', () => aText(), 'file is not a database'],
  ['below a file', () => join(aText(), 'arcus.db'), 'unable to open database file'],
  ['below /proc', () => '/proc/arcus/arcus.db', 'ENOENT|EPERM|EACCES'],
])('names DATABASE_URL in one sentence when it is %s', async (_, path, said) => {
  const failure = await open(path()).catch((error) => error)
  const sentence = explainStart(failure)
  expect(sentence).toMatch(new RegExp(said))
  expect(sentence).toMatch(/^Arcus cannot start: .*Check the path of DATABASE_URL/)
  expect(sentence).not.toContain('\n')
})

it.each(['203.0.113.7', 'not a host'])('names HOST when it is %s', async (host) => {
  const failure = await listening(host).catch((error) => error)
  expect(explainStart(failure)).toMatch(/^Arcus cannot start: .*Set HOST[^\n]*$/)
})

it('names the settings of a chain that is not the one expected', () => {
  const sentence = explainStart(new TokenMismatchError('there is no contract at asset 0x1'))
  expect(sentence).toMatch(/^Arcus cannot serve.*MAINNET_RPC_URLS or MAINNET_ASSETS[^\n]*$/)
})

it('says where settings are explained after a problem of one', () => {
  const text = explainStart(new ConfigError(['PORT must be a whole number.']))
  expect(text).toMatch(/PORT must be a whole number\.\n.*\.env\.example.*arcus init/)
})

it('shows a bug whole', () => {
  expect(explainStart(new TypeError('x is undefined'))).toContain('\n    at ')
})

function aText(): string {
  const path = join(folder, 'notes.txt')
  writeFileSync(path, 'no database, but a text of some length\n'.repeat(100))
  return path
}
