import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The settings of an image that a container starts with. */
export interface ImageSettings {
  env: Record<string, string>
  workdir: string
  user: string
  command: string[]
  labels: Record<string, string>
  volumes: string[]
}

/**
 * Debian's buildah with images of its own in a folder, and without a daemon. `STORAGE_DRIVER=vfs` serves where the kernel
 * has no overlays; it copies the whole image for each instruction.
 */
export interface Buildah {
  /** Makes an image of a folder. */
  importFolder(root: string, name: string, env: Record<string, string>): void
  /** Builds a target of a Dockerfile. Throws with the end of the output when a step fails. */
  build(options: {
    context: string
    target: string
    name: string
    args: Record<string, string>
    labels: Record<string, string>
  }): void
  settings(image: string): ImageSettings
  /** Returns the size of the image in MB (10^6 bytes), its base included. */
  megabytes(image: string): number
  /** Returns a folder with a container's root; it may be written. */
  mount(image: string): string
  /** Removes the containers of all mounts. */
  close(): void
}

export function openBuildah(folder: string): Buildah {
  const { STORAGE_DRIVER } = process.env
  const places = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run')]
  if (STORAGE_DRIVER) places.push('--storage-driver', STORAGE_DRIVER)
  const run = (...words: string[]) =>
    execFileSync('buildah', [...places, ...words], { encoding: 'utf8' }).trim()
  const inspect = (image: string) => JSON.parse(run('inspect', '--type', 'image', image)).OCIv1

  return {
    importFolder(root, name, variables) {
      const container = run('from', 'scratch')
      execFileSync('cp', ['-a', `${root}/.`, run('mount', container)])
      const set = Object.entries(variables).flatMap(([key, value]) => ['--env', `${key}=${value}`])
      run('config', ...set, '--cmd', 'node', container)
      run('commit', '--quiet', '--rm', container, name)
    },
    build({ context, target, name, args, labels }) {
      const words = [...places, 'build', '--isolation', 'chroot', '--pull-never', '--layers']
      for (const [key, value] of Object.entries(args)) words.push('--build-arg', `${key}=${value}`)
      for (const [key, value] of Object.entries(labels)) words.push('--label', `${key}=${value}`)
      words.push('--target', target, '--tag', name, context)
      const { status, stdout, stderr } = spawnSync('buildah', words, {
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
      })
      if (status !== 0)
        throw new Error(`${target} was not built:\n${stdout}${stderr}`.slice(-8_000))
    },
    settings(image) {
      const { config } = inspect(image)
      const env = config.Env.map((line: string) => {
        const [key = '', ...value] = line.split('=')
        return [key, value.join('=')]
      })
      return {
        env: Object.fromEntries(env),
        workdir: config.WorkingDir ?? '/',
        user: config.User ?? 'root',
        command: config.Cmd ?? [],
        labels: config.Labels ?? {},
        volumes: Object.keys(config.Volumes ?? {}),
      }
    },
    megabytes(image) {
      const [{ size }] = JSON.parse(run('images', '--json', image)) as [{ size: string }]
      const [, amount = '', unit = ''] = /^([\d.]+) (MB|GB)$/.exec(size) ?? []
      return Number(amount) * (unit === 'GB' ? 1_000 : 1)
    },
    mount: (image) => run('mount', run('from', '--pull-never', image)),
    close() {
      run('rm', '--all')
    },
  }
}
