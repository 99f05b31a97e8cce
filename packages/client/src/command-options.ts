import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { stripUnwelcome } from '@arcus/protocol/listing/text'
import { privateKeyToAccount } from 'viem/accounts'
import type { BuyerLimits } from './budget.js'
import { type Buyer, createBuyer } from './buyer.js'
import { ArcusError, trustedUrl } from './calls.js'
import { createFileLedger, defaultLedgerPath } from './ledger-file.js'
import type { PaymentSigner, PayOptions } from './pay.js'

/** A command line or a setting that cannot be understood, in one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const text = { type: 'string' } as const
const texts = { type: 'string', multiple: true, default: [] as string[] } as const
const flag = { type: 'boolean', default: false } as const

const options = {
  url: text,
  ledger: text,
  'key-file': text,
  network: text,
  asset: text,
  max: text,
  'per-day': text,
  'per-seller': text,
  total: text,
  sellers: text,
  channel: text,
  rpc: text,
  method: text,
  query: texts,
  body: text,
  tool: text,
  'dry-run': flag,
  id: text,
  price: text,
  'pay-to': text,
  server: text,
  json: flag,
  help: flag,
} as const

export type CommandArguments = ReturnType<typeof readArguments>

/** Reads a command line. Throws `UsageError` for what is unknown. */
export function readArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [command, ...words] = positionals
    return { ...values, command, words }
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ')
    throw new UsageError(`${sentence.replace(/\.$/, '')}.`)
  }
}

/** The address of the service. It must be encrypted beyond this machine, because it says what payments became of. */
export function serviceUrl({ url }: CommandArguments): string {
  try {
    return trustedUrl(url ?? process.env.ARCUS_URL ?? 'http://localhost:4021')
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Reads the key of the payer from the environment or a file. It is never an argument, which others could see. */
export function readAccount(given: CommandArguments) {
  const file = given['key-file'] ?? process.env.PAYER_PRIVATE_KEY_FILE
  const key = (
    file === undefined ? process.env.PAYER_PRIVATE_KEY : readText(file, 'The file of the key')
  )?.trim()
  // Programs that this one starts need it as little as a report of its environment does.
  delete process.env.PAYER_PRIVATE_KEY
  if (key === undefined || key === '') {
    const ways = 'PAYER_PRIVATE_KEY, or name a file in PAYER_PRIVATE_KEY_FILE or --key-file'
    const made = 'arcus-client wallet --key-file payer.key makes one'
    throw new UsageError(`There is no key to pay with: set ${ways}; ${made}.`)
  }
  if (!isKey(key)) {
    throw new UsageError(
      'The key of the payer is not 32 bytes in hexadecimal digits (0x and 64 of them).',
    )
  }
  return privateKeyToAccount(`0x${key.replace(/^0x/i, '')}`)
}

export function isKey(text: string): boolean {
  return /^(0x)?[0-9a-f]{64}$/i.test(text)
}

/** Reads a file that the command line names. Throws `UsageError` where it cannot be read, without the path of a key. */
export function readText(path: string, name = path): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${name} cannot be read (${code}).`)
  }
}

/** Stands where nothing is signed, and so no key is needed. */
const nobody: PaymentSigner = {
  address: '0x0000000000000000000000000000000000000000',
  signTypedData: () => Promise.reject(new UsageError('This command signs nothing.')),
}

/** Makes the buyer of a command line, over the ledger of this machine. Throws `UsageError`. */
export function buyerOf(given: CommandArguments, limits: BuyerLimits, signs: boolean): Buyer {
  const { ledger = process.env.ARCUS_LEDGER ?? defaultLedgerPath, network, asset, channel } = given
  const rpcUrl = given.rpc ?? process.env.ARCUS_RPC_URL
  if (channel !== undefined && rpcUrl === undefined) {
    throw new UsageError('--channel wants --rpc too, a node that shows what came back.')
  }
  return createBuyer({
    signer: signs ? readAccount(given) : nobody,
    limits,
    ledger: createFileLedger(ledger),
    url: serviceUrl(given),
    ...(rpcUrl !== undefined && { rpcUrl }),
    ...(channel !== undefined && { channels: { deposit: moneyOf(given, 'channel', channel) } }),
    ...(network !== undefined && { network: network as `${string}:${string}` }),
    ...(asset !== undefined && { asset: asset as NonNullable<PayOptions['asset']> }),
  })
}

const DEFAULT_DAY = '1.00'

/** Reads the limits of a command line. What has no default and is not in it is named in the `UsageError`. */
export function limitsOf(
  given: CommandArguments,
  required: readonly ('max' | 'per-day' | 'per-seller')[],
) {
  for (const name of required) {
    if (given[name] === undefined) {
      throw new UsageError(`Set --${name}: you say what may be spent, and nobody else does.`)
    }
  }
  const money = (name: 'max' | 'per-day' | 'per-seller' | 'total', usual?: string) => {
    const value = given[name] ?? usual
    return value === undefined ? undefined : moneyOf(given, name, value)
  }
  const { max = DEFAULT_DAY } = given
  const perSeller = money('per-seller')
  const total = money('total')
  const sellers = sellersOf(given.sellers)
  return {
    perCall: moneyOf(given, 'max', max),
    perDay: money('per-day', Number(max) > Number(DEFAULT_DAY) ? max : DEFAULT_DAY) as string,
    ...(perSeller !== undefined && { perSeller }),
    ...(total !== undefined && { total }),
    ...(sellers !== undefined && { sellers }),
  }
}

function sellersOf(sellers: string | undefined): BuyerLimits['sellers'] {
  if (sellers === undefined || sellers === 'any') return undefined
  return sellers === 'proven' || sellers === 'delivered' ? sellers : sellers.split(',')
}

/** Money as a person writes it, `0.05`, in the currency of the asset; atomic units of a token that has none. */
export function moneyOf({ asset = 'USDC' }: CommandArguments, name: string, value: string): string {
  if (/^0x/i.test(asset)) return value
  const amount = value.replace(/^[$€]/, '')
  if (/^\d{1,12}(\.\d{1,6})?$/.test(amount)) return `${asset === 'EURC' ? '€' : '$'}${amount}`
  throw new UsageError(`--${name} wants an amount such as 0.05, not "${value}".`)
}

/**
 * Reads the money of an agent, `0.05 USDC` or `0.05`, for the buyer. A whole number is refused: it could be atomic units.
 * Throws `ArcusError`.
 */
export function agentMoney({ asset = 'USDC' }: CommandArguments, words: string): string {
  if (/^0x/i.test(asset)) return words
  const [, amount, symbol = asset] = /^[$€]?(\d{1,12}\.\d{1,6})(?: ([A-Z]+))?$/.exec(words) ?? []
  if (amount !== undefined && symbol === asset) return `${asset === 'EURC' ? '€' : '$'}${amount}`
  const message = `maxAmount wants money such as "0.05 ${asset}", not "${words}".`
  throw new ArcusError('invalid_amount', message)
}

/** A text of a stranger on one line, without what a terminal would obey. */
export function clean(words: string): string {
  return stripUnwelcome(words.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')).trim()
}

/** Characters that a terminal obeys or that nobody sees. The line breaks between members are our own. */
const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** JSON with amounts as digits. What a terminal would obey in the texts of strangers is escaped, so nothing is lost. */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? `${it}` : it), 2)
  return json.replace(unseen, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
