import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface GrantsOptions {
  /** Path of the file, which is made when it is missing, with its folder. One process may use it at a time. */
  path: string
  /** The time for which a payment opens the route to its payer. */
  seconds: number
  /**
   * Returns the name under which payments count, by `"GET /news/:topic"` and by the parameters of the call. Default: both,
   * so a payment opens the call with the same parameters only. `(route) => route` opens a route with any parameters.
   */
  scope?: (route: string, parameters: string) => string
}

/** A storage for the official `sign-in-with-x`, which keeps what was paid in a file, for a time. */
export interface Grants {
  hasPaid(resource: string, address: string): boolean
  recordPayment(resource: string, address: string): Promise<void>
  hasUsedNonce(nonce: string): boolean
  /** Rejects for a nonce that is used, and where it cannot be kept: then nothing is granted. */
  recordNonce(nonce: string): Promise<void>
  /** Resolves when everything is on disk. */
  close(): Promise<void>
}

/** Longer than the official package takes a signed message for fresh, which is five minutes. */
const NONCE_SECONDS = 600
/** Entries of each kind, about twenty megabytes. Above it the oldest grant is forgotten, and no further sign-in is taken. */
const MAX_KEPT = 100_000
/** The file is written anew when it has this many lines that say nothing any more. */
const MAX_DEAD_LINES = 10_000

type Kind = 'paid' | 'nonce'
/** `until` is in Unix milliseconds. */
type GrantLine = { kind: Kind; id: string; until: number }

/** Opens the grants. Rejects where the file cannot be read or written. */
export async function createGrants(options: GrantsOptions): Promise<Grants> {
  const { path, seconds } = options
  if (!(seconds > 0)) throw new Error(`x402: seconds of grants must be positive, got ${seconds}.`)
  await mkdir(dirname(path), { recursive: true })
  const text = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return new KeptGrants(options, text.split('\n').flatMap(parseLine), await openToAppend(path))
}

class KeptGrants implements Grants {
  readonly #options: GrantsOptions
  /** The end of each by its name. All of a kind last equally long, so the first one is the oldest. */
  readonly #kept: Record<Kind, Map<string, number>> = { paid: new Map(), nonce: new Map() }
  #file: FileHandle
  #lines: number
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: GrantsOptions, lines: GrantLine[], file: FileHandle) {
    this.#options = options
    this.#file = file
    this.#lines = lines.length
    for (const line of lines) this.#keep(line)
  }

  hasPaid(resource: string, address: string): boolean {
    return this.#has('paid', this.#nameOf(resource, address))
  }

  async recordPayment(resource: string, address: string): Promise<void> {
    const until = Date.now() + this.#options.seconds * 1_000
    const line: GrantLine = { kind: 'paid', id: this.#nameOf(resource, address), until }
    await this.#append(line)
    this.#keep(line)
  }

  hasUsedNonce(nonce: string): boolean {
    return this.#has('nonce', digest(nonce))
  }

  async recordNonce(nonce: string): Promise<void> {
    const { nonce: nonces } = this.#kept
    const until = Date.now() + NONCE_SECONDS * 1_000
    const line: GrantLine = { kind: 'nonce', id: digest(nonce), until }
    if (this.#has('nonce', line.id)) throw new Error('x402: this sign-in was used')
    forgetOver(nonces)
    if (nonces.size >= MAX_KEPT) throw new Error('x402: too many sign-ins within ten minutes')
    // It is kept before the disk has it, so that of two calls at once only one is let through.
    nonces.set(line.id, until)
    await this.#append(line)
  }

  async close(): Promise<void> {
    await this.#last
    await this.#file.close()
  }

  #has(kind: Kind, id: string): boolean {
    return (this.#kept[kind].get(id) ?? 0) > Date.now()
  }

  #keep({ kind, id, until }: GrantLine): void {
    const kept = this.#kept[kind]
    kept.delete(id)
    if (until > Date.now()) kept.set(id, until)
    forgetOver(kept)
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  }

  #nameOf(resource: string, address: string): string {
    const [route = '', parameters = ''] = decodeURIComponent(resource.slice(1)).split('\n')
    const { scope = (name, given) => `${name}\n${given}` } = this.#options
    return digest(`${scope(route, parameters)}\n${address.toLowerCase()}`)
  }

  #append(line: GrantLine): Promise<void> {
    const written = this.#last.then(() => this.#write(line))
    this.#last = written.catch(() => {})
    return written
  }

  async #write(line: GrantLine): Promise<void> {
    const { paid, nonce } = this.#kept
    if (this.#lines - paid.size - nonce.size > MAX_DEAD_LINES) await this.#rewrite()
    // The line break in front ends a line that a full disk or a crash cut short.
    await this.#file.appendFile(`\n${JSON.stringify(line)}\n`)
    await this.#file.datasync()
    this.#lines++
  }

  /** Replaces the file by one without the lines that are over: a crash leaves the one or the other, whole. */
  async #rewrite(): Promise<void> {
    const { path } = this.#options
    const lines = (['paid', 'nonce'] as const).flatMap((kind) =>
      [...this.#kept[kind]].map(([id, until]) => JSON.stringify({ kind, id, until })),
    )
    const fresh = await open(`${path}.new`, 'w', 0o600)
    await fresh.writeFile(`${lines.join('\n')}\n`).finally(() => fresh.close())
    const file = await openToAppend(`${path}.new`)
    await file.sync()
    await rename(`${path}.new`, path)
    await this.#file.close()
    this.#file = file
    this.#lines = lines.length
  }
}

/** Forgets from the oldest on what is over. */
function forgetOver(kept: Map<string, number>): void {
  for (const [id, until] of kept) {
    if (until > Date.now()) return
    kept.delete(id)
  }
}

function openToAppend(path: string): Promise<FileHandle> {
  return open(path, 'a', 0o600)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function parseLine(text: string): GrantLine[] {
  try {
    return text === '' ? [] : [JSON.parse(text) as GrantLine]
  } catch {
    return []
  }
}
