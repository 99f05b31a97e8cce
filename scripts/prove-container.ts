import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeBaseImage } from './container/base-image.js'
import { checkContents, checkDevnet, checkService } from './container/checks.js'
import { parseDockerfile } from './container/dockerfile.js'
import { build, type Room } from './container/room.js'

/*
 * Proves the Dockerfile where there is no container engine: each of its steps runs in a clean chroot, and the last image
 * serves from a root that cannot be written, as user `node`. Needs root, debootstrap and some 3 GB.
 */
const say = (line: string) => process.stdout.write(`${line}\n`)
const project = fileURLToPath(new URL('..', import.meta.url))

const unproved = `
Not proved here, as there is no engine: that the tag of the base image exists and has Debian and Node of these versions,
how an engine sets user, volume, capabilities, seccomp and limits, the layers and their size, docker-compose.yml and its
networks, and other architectures than this one.`

if (process.getuid?.() !== 0) {
  throw new Error('run it as root: chroot and mounts need it')
}
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'arcus-container-'))
mkdirSync(folder, { recursive: true })
try {
  await prove()
} finally {
  if (process.argv[2] === undefined) rmSync(folder, { recursive: true, force: true })
}

async function prove(): Promise<void> {
  const stages = parseDockerfile(readFileSync(join(project, 'Dockerfile'), 'utf8'))
  const rooms = new Map<string, Room>()
  const context = exportContext()
  for (const stage of stages) {
    const known = rooms.get(stage.from)
    const base = known ?? { root: makeBaseImage(stage.from, folder) }
    rmSync(join(folder, stage.name), { recursive: true, force: true })
    rooms.set(stage.name, build(stage, base, rooms, { folder, context, say }))
  }
  const service = rooms.get('service') as Room
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  checkContents(service, lock, say)
  await checkService(service, folder, say)
  await checkDevnet(rooms.get('devnet') as Room, say)
  say(unproved)
}

/** What an engine would be sent: the tracked files, as `.dockerignore` leaves out what is made. */
function exportContext(): string {
  const context = join(folder, 'context')
  rmSync(context, { recursive: true, force: true })
  mkdirSync(context)
  execFileSync('sh', ['-c', `git ls-files -z | xargs -0 cp --parents -t '${context}'`], {
    cwd: project,
  })
  return context
}
