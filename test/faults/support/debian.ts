import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']

/**
 * Returns the path of a program of a Debian package, or `undefined` where it is not installed: the test then says so and is
 * skipped. CI installs the package (`.ci/faults`) and sets NEVER_SKIP, so there it throws.
 */
export function findProgram(name: string): string | undefined {
  const path = folders.map((folder) => join(folder, name)).find((it) => existsSync(it))
  return path ?? missing(name)
}

/** Returns the path of the library that shifts the clock of a process, under the same conditions. */
export function findFaketime(): string | undefined {
  const folder = '/usr/lib'
  const path = readdirSync(folder)
    .map((machine) => join(folder, machine, 'faketime', 'libfaketimeMT.so.1'))
    .find((it) => existsSync(it))
  return path ?? missing('libfaketime')
}

function missing(name: string): undefined {
  if (process.env.NEVER_SKIP) throw new Error(`${name} is not installed: apt-get install ${name}`)
  return undefined
}
