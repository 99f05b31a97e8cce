import { existsSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './source-files.js'

it('the tests of a room are in a folder of its name', () => {
  const unit = join(root, 'test/unit')
  const files = readdirSync(unit, { recursive: true, withFileTypes: true })
  const folders = files
    .filter((it) => it.isFile())
    .map(({ parentPath }) => relative(unit, parentPath).split(sep).join('/'))
  expect(folders).toContain('facilitator/relayer')
  expect(folders).toContain('protocol/x402')
  expect([...new Set(folders)].filter((it) => !isRoom(it))).toEqual([])
})

/** A folder of `src`, or of the sources of a package, named without `packages` and `src`. */
function isRoom(folder: string): boolean {
  const [first = '', ...rest] = folder.split('/')
  const inPackage = join(root, 'packages', first, 'src', ...rest)
  return first !== '' && (existsSync(join(root, 'src', folder)) || existsSync(inPackage))
}
