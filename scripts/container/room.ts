import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import type { Stage } from './dockerfile.js'

/** A stage as a folder that is entered by `chroot`, and what its instructions have said so far. */
export interface Room {
  root: string
  env: Record<string, string>
  workdir: string
  user: string
  command: string[]
  healthcheck: string[]
}

/** How a root is entered: as `--read-only` with a volume at `data` and a `/tmp`, or as it is. */
export interface Mounts {
  isReadOnly: boolean
  volume?: string
}

/** The variables every image has. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const IMAGE_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** Does to a copy of `base` what the stage says, each RUN in a clean chroot; prints each step. */
export function build(
  stage: Stage,
  base: Pick<Room, 'root'> & Partial<Room>,
  others: ReadonlyMap<string, Room>,
  { folder, context, say }: { folder: string; context: string; say: (line: string) => void },
): Room {
  const root = join(folder, stage.name)
  say(`FROM ${stage.from} AS ${stage.name}`)
  execFileSync('cp', ['-a', '--reflink=auto', base.root, root])
  const room: Room = {
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
    if (name === 'RUN') enter(room, ['sh', '-c', text])
    else if (name === 'COPY') copy(room, text, others, context)
    else if (name === 'ENV') {
      const [key = '', value = ''] = text.split('=')
      room.env = { ...room.env, [key]: value }
    } else if (name === 'WORKDIR') {
      room.workdir = posix.resolve(room.workdir, text)
      mkdirSync(join(root, room.workdir), { recursive: true })
    } else if (name === 'USER') room.user = text
    else if (name === 'CMD') room.command = JSON.parse(text)
    else if (name === 'HEALTHCHECK') room.healthcheck = JSON.parse(text.replace(/^.*? CMD /, ''))
    else if (name !== 'EXPOSE' && name !== 'VOLUME') throw new Error(`${name} is not understood`)
  }
  return room
}

/** Runs a command in the room as its user, and throws when it fails. */
export function enter(
  room: Room,
  command: string[],
  env: Record<string, string> = {},
  options: Mounts = { isReadOnly: false },
): string {
  const [file = '', ...args] = wrap(room, command, options)
  return execFileSync(file, args, {
    // Where the way to the registry has a certificate of its own, the machine knows it.
    env: { NODE_EXTRA_CA_CERTS: CERTIFICATES, ...room.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A command under way in a room. */
export interface Running {
  /** What it wrote. */
  said(): string
  /** Sends SIGTERM, as an engine does first. */
  stop(): void
  /** Its exit code; `null` when a signal ended it. */
  exited: Promise<number | null>
}

/** Starts the room's own command, or another. */
export function start(
  room: Room,
  env: Record<string, string>,
  { command = room.command, ...mounts }: Mounts & { command?: string[] },
): Running {
  const [file = '', ...args] = wrap(room, command, mounts)
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(file, args, { env: { ...room.env, ...env }, stdio })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  return {
    said: () => said,
    stop: () => void child.kill('SIGTERM'),
    exited: new Promise((resolve) => child.once('exit', resolve)),
  }
}

function wrap(
  { root, workdir, user }: Room,
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

function copy(room: Room, text: string, others: ReadonlyMap<string, Room>, context: string): void {
  const [, from, rest = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(text) ?? []
  const words = rest.split(' ')
  const target = words.pop() ?? ''
  const destination = join(room.root, posix.resolve(room.workdir, target))
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

/** What the machine must lend a room so that its network works: names, certificates, the way to npm's registry. */
export function lendNetwork(root: string): void {
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
  // Where headers lie is the image's own matter.
  writeFileSync(
    join(root, 'root/.npmrc'),
    lines.filter((line) => !line.startsWith('nodedir')).join('\n'),
  )
}
