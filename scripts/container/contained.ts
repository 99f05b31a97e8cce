import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { ImageSettings } from './buildah.js'

/** A mounted image, and the rights with which its commands run. */
export interface Contained extends ImageSettings {
  root: string
  /** True as `docker-compose.yml` runs the service: root read-only, `/tmp` in memory, no capabilities, no new rights. */
  isLocked: boolean
  /** The folder mounted at the volume of the image. */
  volume?: string
}

/** Runs a command of the image to its end. Throws when it fails. */
export function runIn(
  container: Contained,
  command: readonly string[],
  env: Record<string, string> = {},
): string {
  const [file = '', ...args] = wrap(container, command)
  return execFileSync(file, args, {
    env: { ...container.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A running command in a container. */
export interface Running {
  /** Returns its output so far. */
  output(): string
  /** Sends SIGTERM, like a container engine. */
  stop(): void
  /** Resolves to its exit code, `null` when a signal ended it. */
  exited: Promise<number | null>
}

export function startIn(
  container: Contained,
  command: readonly string[],
  env: Record<string, string>,
): Running {
  const [file = '', ...args] = wrap(container, command)
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(file, args, { env: { ...container.env, ...env }, stdio })
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

/** Mounts of its own around a chroot. The last shell becomes the command, so that signals reach it. */
function wrap(container: Contained, command: readonly string[]): string[] {
  const { root, workdir, user, isLocked, volume, volumes } = container
  const mounts = [
    `mount --bind "${root}" "${root}"`,
    `mount -t proc proc "${root}/proc"`,
    `mount --rbind /dev "${root}/dev"`,
  ]
  if (volume !== undefined)
    mounts.push(`mount --bind "${volume}" "${join(root, volumes[0] ?? '')}"`)
  if (isLocked) {
    mounts.push(`mount -o remount,ro,bind "${root}"`, `mount -t tmpfs tmpfs "${root}/tmp"`)
  }
  const inside = `cd ${quote(workdir)} && exec ${command.map(quote).join(' ')}`
  const rights = isLocked ? '--no-new-privs --bounding-set=-all --inh-caps=-all' : ''
  const become = `setpriv --reuid=${user} --regid=${user} --init-groups ${rights}`
  const enter = `exec chroot "${root}" ${become} sh -c ${quote(inside)}`
  return ['unshare', '--mount', 'sh', '-c', [...mounts, enter].join(' && ')]
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
