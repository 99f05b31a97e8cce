import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkArchive } from '../../src/doctor/settings-checks.js'

const sqlite = { kind: 'sqlite', path: ':memory:' } as const
const postgres = { kind: 'postgres', url: 'postgres://a@b/c', poolSize: 10 } as const
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'arcus-doctor-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function check(folder: string, database: typeof sqlite | typeof postgres = sqlite) {
  return checkArchive({ archive: { retentionDays: 90, folder }, database })
}

it('says nothing of an archive that is not wanted', () => {
  expect(checkArchive({ archive: undefined, database: sqlite })).toEqual([])
})

it('finds the folder, or the place where it would be made', () => {
  const there = join(root, 'there')
  mkdirSync(there)
  for (const folder of [there, join(root, 'not', 'yet')]) {
    const [found] = check(folder)
    expect(found).toMatchObject({
      name: 'archive',
      detail: expect.stringMatching(/can be written/),
    })
  }
  expect(check(there)[0]?.detail).not.toContain('replicas')
  expect(check(there, postgres)[0]?.detail).toContain('all replicas need this very folder')
})

it('warns of a folder that cannot be made', () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  for (const folder of [file, join(file, 'archive')]) {
    expect(check(folder)).toMatchObject([
      { state: 'warn', detail: expect.stringMatching(/cannot be written \(E\w+\)/) },
    ])
  }
})
