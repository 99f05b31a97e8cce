import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { external } from '../../scripts/bundle.js'
import { closureOf } from '../../scripts/layout.js'
import {
  billOfMaterials,
  componentsOfDpkg,
  componentsOfLicenses,
  componentsOfLock,
} from '../../scripts/sbom.js'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { packages } = JSON.parse(read('package-lock.json'))
const project = JSON.parse(read('package.json'))

it('names what is installed in the versions of the lockfile, what npm sbom leaves out included', () => {
  const installed = JSON.parse(read('node_modules/.package-lock.json')).packages
  const { components } = billOfMaterials(project, componentsOfLock(installed))
  for (const name of ['viem', 'fastify', 'better-sqlite3', '@x402/core']) {
    const { version } = packages[`node_modules/${name}`]
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    expect(components).toContainEqual(expect.objectContaining({ name, version, purl }))
  }
  const viem = components.find(({ name }) => name === 'viem')
  expect(viem?.licenses).toEqual([{ license: { id: 'MIT' } }])
  expect(viem?.hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/)
  // Two versions of a package are two parts, and each stands there once.
  const refs = components.map((component) => component['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  expect(components.filter(({ name }) => name === 'zod').length).toBeGreaterThan(1)
})

it('leaves out links and the project itself', () => {
  const lock = { '': { version: '1.0.0' }, 'packages/a': { version: '1.0.0' } }
  const link = { 'node_modules/a': { link: true, version: '1.0.0' } }
  expect(componentsOfLock({ ...lock, ...link })).toEqual([])
})

it('names what is bundled, once where it is installed as well', () => {
  const text =
    '# Licenses\n\n## react - 19.3.1 (MIT)\n\n## no heading\n\n## @a/b - 1.0.0 (A OR B)\n'
  const bundled = componentsOfLicenses(text)
  expect(bundled.map(({ purl }) => purl)).toEqual(['pkg:npm/react@19.3.1', 'pkg:npm/%40a/b@1.0.0'])
  expect(bundled[1]?.licenses).toEqual([{ expression: 'A OR B' }])
  const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`
  const installed = componentsOfLock({ 'node_modules/react': { version: '19.3.1', integrity } })
  for (const both of [
    [...bundled, ...installed],
    [...installed, ...bundled],
  ]) {
    const { components } = billOfMaterials(project, both)
    const react = components.filter(({ name }) => name === 'react')
    expect(react).toHaveLength(1)
    expect(react[0]?.hashes).toHaveLength(1)
  }
})

it('names the packages of Debian that are installed', () => {
  const paragraph = (name: string, status: string) =>
    `Package: ${name}\nStatus: ${status}\nArchitecture: amd64\nVersion: 1:2.0+b1`
  const status = [
    paragraph('libc6', 'install ok installed'),
    paragraph('gone', 'deinstall ok config-files'),
  ].join('\n\n')
  expect(componentsOfDpkg(status).map(({ purl }) => purl)).toEqual([
    'pkg:deb/debian/libc6@1%3A2.0%2Bb1?arch=amd64',
  ])
})

it('is in the image, which has labels that fit the project', () => {
  const said = read('Dockerfile').split(' AS service\n')[1] ?? ''
  const labels = [...said.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)]
  expect(Object.fromEntries(labels.map(([, name, value]) => [name, value]))).toEqual({
    title: 'Arcus',
    description: project.description,
    licenses: project.license,
  })
})

it('of a layout has the packages that are not bundled and what they load, without installers', () => {
  const installed = JSON.parse(read('node_modules/.package-lock.json')).packages
  const paths = closureOf(external, installed)
  for (const name of [
    'better-sqlite3',
    'bindings',
    'pg',
    'pg-types',
    'secp256k1',
    'node-gyp-build',
  ]) {
    expect(paths).toContain(`node_modules/${name}`)
  }
  expect(paths).not.toContain('node_modules/prebuild-install')
  expect(paths.length).toBeLessThan(40)
})

it('of a layout has the package that Node finds for each user', () => {
  const installed = {
    'node_modules/a': { dependencies: { b: '1', c: '1' } },
    'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
    'node_modules/b': {},
    'node_modules/c': {},
  }
  const found = ['node_modules/a', 'node_modules/a/node_modules/b', 'node_modules/c']
  expect(closureOf(['a'], installed)).toEqual(found)
  expect(() => closureOf(['d'], installed)).toThrow('d is not installed')
})
