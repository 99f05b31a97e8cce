import { renameSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openStores } from '../../../src/app/stores/open-stores.js'
import { StoreUnavailableError } from '../../../src/sql/errors.js'
import { aFile } from './a-sqlite-engine.js'

it('reports that the thread that reads ended, and starts another one', async () => {
  const path = aFile()
  const faults: unknown[] = []
  const stores = await openStores({ kind: 'sqlite', path }, (error) => faults.push(error))
  // The thread opens the file with the first read.
  renameSync(path, `${path}.moved`)
  const read = () => stores.listings.publishedAfter(undefined, 9)
  await expect(read()).rejects.toBeInstanceOf(StoreUnavailableError)
  expect(faults).toEqual([expect.objectContaining({ code: 'SQLITE_CANTOPEN' })])
  renameSync(`${path}.moved`, path)
  for (;;) {
    const found = await read().catch((error) => error)
    if (!(found instanceof StoreUnavailableError)) {
      expect(found).toEqual([])
      break
    }
    await sleep(50)
  }
  await stores.close()
})
