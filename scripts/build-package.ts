import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/*
 * Builds the package in whose folder it is started, with its types. The packages share @arcus/protocol by name, which is
 * in no registry: its files are compiled into `dist` next to those of the package, and the names become paths.
 */

const compiler = join(import.meta.dirname, '../node_modules/typescript/bin/tsc')
const PROTOCOL = /(['"])@arcus\/protocol\/([\w/-]+)\1/g

rmSync('dist', { recursive: true, force: true })
for (const project of ['tsconfig.json', 'tsconfig.node.json'].filter((name) => existsSync(name))) {
  execFileSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
}
for (const path of readdirSync('dist', { recursive: true, encoding: 'utf8' })) {
  if (!/\.(js|d\.ts)$/.test(path)) continue
  const file = join('dist', path)
  const text = readFileSync(file, 'utf8')
  const placed = text.replace(PROTOCOL, (_, quote: string, name: string) => {
    const target = relative(dirname(file), join('dist/protocol/src', `${name}.js`))
    return (
      quote +
      target
        .split(sep)
        .join('/')
        .replace(/^(?!\.)/, './') +
      quote
    )
  })
  if (placed !== text) writeFileSync(file, placed)
}
copyFileSync('../../LICENSE', 'dist/LICENSE')
