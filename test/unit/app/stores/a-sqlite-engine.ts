import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import type { Engine } from './store-contract.js'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** Returns the path of a new database, which is removed after the test. */
export function aFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-store-'))
  folders.push(folder)
  return join(folder, 'deep', 'arcus.db')
}

/** A database in memory where a test wants an empty one, or a file each time, which is read on another thread. */
export async function openEngine(anEmpty = () => ':memory:'): Promise<Engine> {
  const path = aFile()
  let current = openSqliteStores(path)
  return {
    stores: current,
    async reopen() {
      await current.close()
      current = openSqliteStores(path)
      return current
    },
    async empty() {
      await current.close()
      current = openSqliteStores(anEmpty())
      return current
    },
    close: () => current.close(),
  }
}
