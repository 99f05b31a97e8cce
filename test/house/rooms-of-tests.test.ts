import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './source-files.js'

const entries = readdirSync(join(root, 'test/unit'), { recursive: true, withFileTypes: true })

it('the tests of a room are in a folder of its name', () => {
  const folders = entries
    .filter((it) => it.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(root, 'test/unit/').length))
  expect(folders).toContain('facilitator/relayer')
  expect(folders).toContain('protocol/x402')
  expect(folders.filter((it) => !isRoom(it))).toEqual([])
  expect(entries.filter((it) => it.isFile() && !/unit.+/.test(it.parentPath))).toEqual([])
})

function isRoom(folder: string): boolean {
  const [first = '', ...rest] = folder.split('/')
  const inPackage = join(root, 'packages', first, 'src', ...rest)
  return existsSync(join(root, 'src', folder)) || existsSync(inPackage)
}
