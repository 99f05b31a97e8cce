import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type Hex, keccak256 } from 'viem'
import { completeCode, type Deployment } from '../../chain/deployments.js'
import { CommandError } from '../command-line.js'

/** An artifact of Foundry holds the sources' syntax tree, too. */
const MAX_FILE_BYTES = 8_000_000
const MAX_FILES = 5_000
const MAX_DEPTH = 6
const extensions = new Set(['.hex', '.bin', '.txt', '.json'])
/** Folders of a checkout that hold other people's code, and much of it. */
const skipped = new Set(['node_modules', 'lib', 'cache', 'broadcast'])

/** The creation code of each contract that was found. */
export type FoundCode = Map<Deployment, Hex>

/**
 * Looks for the creation code of these contracts in files and folders. The hash decides what a file is, never its name.
 * A folder with sources of Foundry, in which something is missing, is compiled by `forge` first. Throws a
 * `CommandError` for a path that cannot be read, or that holds none of the contracts.
 */
export function findCode(places: readonly string[], wanted: readonly Deployment[]): FoundCode {
  const found: FoundCode = new Map()
  for (const place of places) {
    const isFolder = requirePlace(place)
    const before = found.size
    search(place, wanted, found)
    if (isFolder && found.size < wanted.length && existsSync(join(place, 'foundry.toml'))) {
      compile(place)
      search(place, wanted, found)
    }
    if (found.size === before && found.size < wanted.length) throw nothingIn(place, isFolder)
  }
  return found
}

function requirePlace(place: string): boolean {
  try {
    return statSync(place).isDirectory()
  } catch {
    throw new CommandError(
      `--code names ${place}, which cannot be read: check path and permissions.`,
    )
  }
}

function search(place: string, wanted: readonly Deployment[], found: FoundCode): void {
  for (const file of filesOf(place)) {
    const code = readCode(file)
    if (code === undefined) continue
    for (const deployment of wanted) {
      const whole = completeCode(deployment, code)
      if (whole !== undefined) found.set(deployment, whole)
    }
    if (found.size === wanted.length) return
  }
}

/** Lists the files that may hold code, bounded in depth and number. */
function filesOf(place: string): string[] {
  if (!statSync(place).isDirectory()) return [place]
  const files: string[] = []
  let folders = [place]
  for (let depth = 0; depth <= MAX_DEPTH && folders.length > 0; depth++) {
    const below: string[] = []
    for (const folder of folders) {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name)
        const isOurs = !entry.name.startsWith('.') && !skipped.has(entry.name)
        if (entry.isDirectory() && isOurs) below.push(path)
        if (entry.isFile() && extensions.has(extname(entry.name))) files.push(path)
        if (files.length > MAX_FILES) throw tooMany(place)
      }
    }
    folders = below
  }
  return files
}

/** Reads creation code: plain hex, or the artifact of a compiler. Returns `undefined` for a file that holds none. */
function readCode(file: string): Hex | undefined {
  if (statSync(file).size > MAX_FILE_BYTES) return undefined
  const text = readFileSync(file, 'utf8').trim()
  const code = text.startsWith('{') ? codeOfArtifact(text) : text
  const [, digits] = /^(?:0x)?((?:[0-9a-f]{2})+)$/i.exec(code ?? '') ?? []
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`
}

function codeOfArtifact(text: string): string | undefined {
  try {
    const { bytecode } = JSON.parse(text) as { bytecode?: string | { object?: string } }
    const code = typeof bytecode === 'object' ? bytecode?.object : bytecode
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}

/** Compiles with the settings of the folder itself, which upstream pins in `foundry.toml`. */
function compile(folder: string): void {
  const { error, status } = spawnSync('forge', ['build', '--root', folder], { stdio: 'inherit' })
  if (error !== undefined) {
    throw new CommandError(
      `${folder} holds sources, but forge cannot be started: install Foundry from https://getfoundry.sh, or name files with creation code.`,
    )
  }
  if (status !== 0)
    throw new CommandError(`forge could not compile ${folder}: see its output above.`)
}

function nothingIn(place: string, isFolder: boolean): CommandError {
  if (isFolder) {
    return new CommandError(
      `No file in ${place} is creation code of a missing contract: check out the commit from which x402 was deployed, and compile it with the settings of its foundry.toml.`,
    )
  }
  const code = readCode(place)
  const got = code === undefined ? 'no creation code' : `code with the hash ${keccak256(code)}`
  return new CommandError(
    `${place} holds ${got}, which no missing contract has: only x402's own code is sent.`,
  )
}

function tooMany(place: string): CommandError {
  return new CommandError(`${place} has more than ${MAX_FILES} files: name a folder further down.`)
}
