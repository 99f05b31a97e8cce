import { readFileSync } from 'node:fs'
import { addressProblem } from '@arcus/protocol/x402/address'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import type { Address, Hex } from 'viem'
import { concealed, concealing } from './concealed.js'
import { ConfigError, type Env, readEnv } from './env.js'

/** Order of the secp256k1 group: a private key is at least 1 and below it (SEC 2, section 2.4.1). */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The form of a private key, as complaints name it. */
const KEY_FORM = 'expected 32 bytes of hex, 0x followed by 64 digits'

/** The keys, apart from the settings, so that none can get into a log or a route with them. */
export interface Secrets {
  /** One for each lane. 32 bytes, lower case, in the order given. */
  readonly relayerPrivateKeys: readonly Hex[]
  /** The service that signs for these wallets, one lane each. Its URL may hold a password. */
  readonly relayerSigner: { url: string; addresses: readonly Address[] } | undefined
  /** The key that signs claims and refunds of hosted endpoints; `undefined` when there are none. */
  readonly hostedPrivateKey: Hex | undefined
  /** The key that signs attestations of settlements; `undefined` where none are made. */
  readonly attestationPrivateKey: Hex | undefined
  /** The keys of the wallets that buy from listed endpoints; none where nothing is bought. */
  readonly checkPrivateKeys: readonly Hex[]
  /** The key with which secrets of webhooks are made; `undefined` if the database alone makes them. */
  readonly webhookKey: Hex | undefined
  /** The operator's own webhook. Its URL may hold a password, and its secret is 24 to 64 bytes. */
  readonly operatorWebhook: { url: string; secret: Buffer } | undefined
}

/** A key as the operator wrote it, with its position. Messages may name the position, never the key. */
interface WrittenKey {
  text: string
  position: string
}

/**
 * Reads the relayer keys from a comma list or a file of lines, and where other services hold some. A directory alone has no
 * use for them, so there they are not read. Throws one `ConfigError` that repeats no value.
 */
export function readSecrets(source: NodeJS.ProcessEnv): Secrets {
  const all = readEnv(source)
  const env = all.SERVE_ONLY === 'directory' ? withoutRelayers(all) : all
  const written = writtenKeys(env)
  const problems: string[] = []
  const positions = new Map<Hex, string>()
  for (const { text, position } of written) {
    const key = parseKey(text)
    if (key === undefined) {
      problems.push(`${position} is not a private key: ${KEY_FORM}.`)
    } else if (!isInRange(key)) {
      problems.push(
        `${position} is not a private key: its value is zero or past the secp256k1 order.`,
      )
    } else if (positions.has(key)) {
      problems.push(
        `${position} repeats ${positions.get(key)}: one wallet is one lane, remove one of them.`,
      )
    } else {
      positions.set(key, position)
    }
  }
  const relayerPrivateKeys = [...positions.keys()]
  const relayerSigner = readSigner(env, problems)
  const hostedPrivateKey = readHostedKey(env, positions, problems)
  if (hostedPrivateKey !== undefined) positions.set(hostedPrivateKey, 'HOSTED_PRIVATE_KEY')
  const checkPrivateKeys = readCheckKeys(env, positions, problems)
  const attestationPrivateKey = readAttestationKey(env, positions, problems)
  const webhookKey = readWebhookKey(env, problems)
  const operatorWebhook = readOperatorWebhook(env, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return concealing(
    {
      relayerPrivateKeys: concealed(relayerPrivateKeys),
      checkPrivateKeys: concealed(checkPrivateKeys),
    },
    { relayerSigner, hostedPrivateKey, attestationPrivateKey, webhookKey, operatorWebhook },
  )
}

function withoutRelayers(env: Env): Env {
  const {
    RELAYER_PRIVATE_KEYS: _keys,
    RELAYER_PRIVATE_KEYS_FILE: _file,
    RELAYER_SIGNER_URL: _url,
    RELAYER_SIGNER_ADDRESSES: _addresses,
    ...others
  } = env
  return others
}

function readSigner(env: Env, problems: string[]): Secrets['relayerSigner'] {
  const { RELAYER_SIGNER_URL: url, RELAYER_SIGNER_ADDRESSES: list } = env
  if (url === undefined && list === undefined) return undefined
  if (url === undefined || list === undefined) {
    problems.push(
      'RELAYER_SIGNER_URL and RELAYER_SIGNER_ADDRESSES belong together: set both or none.',
    )
    return undefined
  }
  if (!/^https?:/.test(parseUrl(url)?.protocol ?? '')) {
    problems.push('RELAYER_SIGNER_URL is not an http or https URL.')
  }
  const addresses = listOf(list)
  for (const [index, text] of addresses.entries()) {
    const position = `RELAYER_SIGNER_ADDRESSES entry ${index + 1}`
    const problem = addressProblem(text)
    if (problem !== undefined) {
      problems.push(`${position} ${problem}.`)
    } else if (addresses.findIndex((it) => isSame(it, text)) < index) {
      problems.push(`${position} is there twice: one wallet is one lane, remove one of them.`)
    }
  }
  return { url, addresses: addresses.map((text) => text.toLowerCase() as Address) }
}

function listOf(text = ''): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

function readHostedKey(
  env: Env,
  relayers: ReadonlyMap<Hex, string>,
  problems: string[],
): Hex | undefined {
  const rule = 'a relayer may not pay, so it could refund nobody'
  return readLoneKey(
    'HOSTED_PRIVATE_KEY',
    env.HOSTED_PRIVATE_KEY,
    { others: relayers, rule },
    problems,
  )
}

/** Reads the keys of the wallets of paid checks, and adds them to those that nobody else may have. */
function readCheckKeys(env: Env, wallets: Map<Hex, string>, problems: string[]): Hex[] {
  const rule = 'the wallets that buy must pay for nothing else'
  return listOf(env.CHECK_PRIVATE_KEYS).flatMap((text, index) => {
    const position = `CHECK_PRIVATE_KEYS entry ${index + 1}`
    const key = readLoneKey(position, text, { others: wallets, rule }, problems)
    if (key === undefined) return []
    wallets.set(key, position)
    return [key]
  })
}

/** Reads the key of attestations, which no wallet may share: a leak of one must not be a leak of both. */
function readAttestationKey(
  env: Env,
  wallets: ReadonlyMap<Hex, string>,
  problems: string[],
): Hex | undefined {
  const { ATTESTATION_PRIVATE_KEY: text, ATTESTATION_PRIVATE_KEY_FILE: file } = env
  if (text !== undefined && file !== undefined) {
    problems.push(
      'ATTESTATION_PRIVATE_KEY and ATTESTATION_PRIVATE_KEY_FILE are both set: keep one of them.',
    )
    return undefined
  }
  const name = file === undefined ? 'ATTESTATION_PRIVATE_KEY' : 'ATTESTATION_PRIVATE_KEY_FILE'
  const written = file === undefined ? text : readKeyFile(name, file).trim()
  const rule = 'attestations need a key that holds no money'
  return readLoneKey(name, written, { others: wallets, rule }, problems)
}

/** Reads a key that must be none of the others, as the rule says. */
function readLoneKey(
  name: string,
  text: string | undefined,
  { others, rule }: { others: ReadonlyMap<Hex, string>; rule: string },
  problems: string[],
): Hex | undefined {
  if (text === undefined) return undefined
  const key = parsePrivateKey(text)
  if (key === undefined) problems.push(`${name} is not a private key: ${KEY_FORM}.`)
  else if (others.has(key)) problems.push(`${name} repeats ${others.get(key)}: ${rule}.`)
  return key
}

function readWebhookKey({ WEBHOOK_KEY: text }: Env, problems: string[]): Hex | undefined {
  const key = text === undefined ? undefined : parseKey(text)
  if (text !== undefined && key === undefined) {
    problems.push(
      'WEBHOOK_KEY is not a key: expected 32 bytes of hex, such as openssl rand -hex 32 gives.',
    )
  }
  return key
}

function readOperatorWebhook(env: Env, problems: string[]): Secrets['operatorWebhook'] {
  const { OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET: text } = env
  if (url === undefined && text === undefined) return undefined
  if (url === undefined || text === undefined) {
    problems.push(
      'OPERATOR_WEBHOOK_URL and OPERATOR_WEBHOOK_SECRET belong together: set both or none.',
    )
    return undefined
  }
  const { protocol, username, password } = parseUrl(url) ?? {}
  if (!/^https?:/.test(protocol ?? '') || username !== '' || password !== '') {
    problems.push(
      'OPERATOR_WEBHOOK_URL is not an http or https URL without user name and password.',
    )
  }
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const secret = Buffer.from(encoded ?? '', 'base64')
  if (secret.length < 24 || secret.length > 64) {
    problems.push(
      'OPERATOR_WEBHOOK_SECRET is not a secret: expected whsec_ and the base64 of 24 to 64 bytes.',
    )
  }
  return { url, secret }
}

function writtenKeys(env: Env): WrittenKey[] {
  const { RELAYER_PRIVATE_KEYS: list, RELAYER_PRIVATE_KEYS_FILE: file } = env
  if (list !== undefined && file !== undefined) {
    throw new ConfigError([
      'RELAYER_PRIVATE_KEYS and RELAYER_PRIVATE_KEYS_FILE are both set: keep one of them.',
    ])
  }
  if (list !== undefined) return keysOfList(list)
  if (file !== undefined) return keysOfFile(file)
  if (listOf(env.RELAYER_SIGNER_ADDRESSES).length > 0 || env.SERVE_ONLY === 'directory') return []
  throw new ConfigError([
    'RELAYER_PRIVATE_KEYS or RELAYER_PRIVATE_KEYS_FILE must be set: the private key of a wallet that holds a ' +
      'little USDC on Arc for gas, or a file with one key a line. RELAYER_SIGNER_URL names ' +
      'a service that holds keys.',
  ])
}

function keysOfList(list: string): WrittenKey[] {
  return list.split(',').map((text, index) => ({
    text: text.trim(),
    position: `RELAYER_PRIVATE_KEYS entry ${index + 1}`,
  }))
}

/** Reads one key a line; blank lines and lines that start with `#` are skipped. */
function keysOfFile(path: string): WrittenKey[] {
  const keys = readKeyFile('RELAYER_PRIVATE_KEYS_FILE', path)
    .split(/\r?\n/)
    .map((line, index) => ({
      text: line.trim(),
      position: `RELAYER_PRIVATE_KEYS_FILE line ${index + 1}`,
    }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'))
  if (keys.length > 0) return keys
  throw new ConfigError([
    'RELAYER_PRIVATE_KEYS_FILE names a file without keys: write one key per line.',
  ])
}

/** Reads the key of a file that an option names. Throws one `ConfigError` that repeats neither key nor path. */
export function readKeyOf(option: string, path: string): Hex {
  const key = parsePrivateKey(readKeyFile(option, path).trim())
  if (key !== undefined) return key
  throw new ConfigError([`${option} names a file without a private key: ${KEY_FORM}.`])
}

/** Reads the file. No message repeats the path: somebody may have pasted a key there. */
function readKeyFile(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw new ConfigError([
      `${setting} names a file that cannot be read${code}: check path and permissions.`,
    ])
  }
}

function parseKey(text: string): Hex | undefined {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(text) ?? []
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`
}

function parsePrivateKey(text: string): Hex | undefined {
  const key = parseKey(text)
  return key !== undefined && isInRange(key) ? key : undefined
}

function isInRange(key: Hex): boolean {
  const value = BigInt(key)
  return value > 0n && value < CURVE_ORDER
}
