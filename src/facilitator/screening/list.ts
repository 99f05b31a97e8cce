import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { addressProblem } from '@arcus/protocol/x402/address'
import type { Address } from 'viem'

/** The file cannot be read, names nobody, or has a line that is no address. The message says which, and repeats no line. */
export class ScreeningListError extends Error {
  override readonly name = 'ScreeningListError'
}

/** A list as it was read. */
interface Contents {
  addresses: ReadonlySet<string>
  /** SHA-256 of the file, the first 16 hex digits: it names the list in the log. */
  hash: string
}

/** The state of a list, for metrics. */
export interface ScreeningListFigures {
  addresses: number
  hash: string
  /** When the file that is in force was written, Unix milliseconds. */
  writtenAt: number
  /** Whether the file has changed since, and cannot be used as it is. */
  isBroken: boolean
}

/** More than every published list of sanctioned addresses together. */
const MAX_BYTES = 64 * 1_024 * 1_024

/**
 * The addresses that the operator refuses on both sides of a payment, from a file of theirs: one address a line, comments
 * after `#`. It is kept in memory. A changed file that cannot be used leaves the list that is in force.
 */
export class ScreeningList {
  readonly #path: string
  #contents: Contents
  /** The version that is in force. */
  #current: Version
  /** The name of the version that was last looked at. */
  #seen: string
  /** Why the version that was last looked at is not in force. */
  #problem: string | undefined

  private constructor(path: string, contents: Contents, version: Version) {
    this.#path = path
    this.#contents = contents
    this.#current = version
    this.#seen = version.name
  }

  /** Reads the list. Rejects with `ScreeningListError` where the file is missing, empty or broken. */
  static async open(path: string): Promise<ScreeningList> {
    const version = await readVersion(path)
    return new ScreeningList(path, await readContents(path), version)
  }

  has(address: Address): boolean {
    return this.#contents.addresses.has(address.toLowerCase())
  }

  /**
   * Takes the file again where it has changed, and has not changed since the last call, because it may still be written. A
   * file that cannot be used is logged once, and the list stays as it was.
   */
  async refresh(log: { error(details: object, message: string): void }): Promise<void> {
    const problem = await this.#takeChange().catch((error: Error) => error)
    if (problem !== undefined && problem.message !== this.#problem) {
      log.error(
        { err: problem },
        'the screening list cannot be used; the one before stays in force',
      )
    }
    this.#problem = problem?.message
  }

  async #takeChange(): Promise<undefined> {
    const version = await readVersion(this.#path)
    const isSettled = version.name === this.#seen
    this.#seen = version.name
    if (!isSettled || version.name === this.#current.name) return
    this.#contents = await readContents(this.#path)
    this.#current = version
  }

  figures(): ScreeningListFigures {
    const { addresses, hash } = this.#contents
    return {
      addresses: addresses.size,
      hash,
      writtenAt: this.#current.writtenAt,
      isBroken: this.#problem !== undefined,
    }
  }
}

/** One version of a file. Two versions have different names. */
interface Version {
  name: string
  /** Unix milliseconds. */
  writtenAt: number
}

async function readVersion(path: string): Promise<Version> {
  const { ino, size, mtimeMs } = await stat(path).catch(cannotRead)
  if (size > MAX_BYTES) {
    throw new ScreeningListError(`The screening list has more than ${MAX_BYTES} bytes.`)
  }
  return { name: `${ino}/${size}/${mtimeMs}`, writtenAt: mtimeMs }
}

async function readContents(path: string): Promise<Contents> {
  const text = await readFile(path, 'utf8').catch(cannotRead)
  const addresses = new Set<string>()
  for (const [index, line] of text.split('\n').entries()) {
    const address = line.replace(/#.*$/s, '').trim()
    if (address === '') continue
    const problem = addressProblem(address)
    if (problem !== undefined) {
      throw new ScreeningListError(`Line ${index + 1} of the screening list ${problem}.`)
    }
    addresses.add(address.toLowerCase())
  }
  if (addresses.size === 0) {
    throw new ScreeningListError('The screening list names no address, so it would refuse nobody.')
  }
  return { addresses, hash: createHash('sha256').update(text).digest('hex').slice(0, 16) }
}

function cannotRead(error: NodeJS.ErrnoException): never {
  const message = `The screening list cannot be read (${error.code ?? error.message}).`
  throw new ScreeningListError(message, { cause: error })
}
