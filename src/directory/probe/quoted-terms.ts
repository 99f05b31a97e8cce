import { type Address, getAddress, isAddress } from 'viem'
import { hasWrongChecksum } from '../../x402/address.js'
import { parseUint256 } from '../../x402/amounts.js'
import { isRecord } from './clean-json.js'
import { cleanText } from './clean-text.js'

/** One requirement of a 402, with the members the protocol knows and no other. */
export interface QuotedTerms {
  scheme: string
  network: string
  /** Decimal digits, atomic units. */
  amount: string
  /** On an EVM network an address with checksum. */
  asset: string
  /** The same; as it was spelled where its checksum is wrong. */
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, string | number>
}

const MAX_WORD_CHARS = 64
const MAX_EXTRA_CHARS = 128
const MAX_TIMEOUT_SECONDS = 31_536_000

/** Members of `extra` that x402 v2 defines for the schemes of Arc: the EIP-712 domain, and batch-settlement's terms. */
const extraNames = [
  'name',
  'version',
  'assetTransferMethod',
  'receiverAuthorizer',
  'withdrawDelay',
  'minDeposit',
]

/** Reads one entry of `accepts`; `undefined` when a buyer could not use it. Unknown members are left behind. */
export function readQuotedTerms(entry: unknown): QuotedTerms | undefined {
  if (!isRecord(entry)) return undefined
  const scheme = word(entry.scheme)
  const network = word(entry.network)
  const amount = typeof entry.amount === 'string' ? parseUint256(entry.amount) : undefined
  const asset = account(entry.asset)
  // A wrong checksum stays to be seen: who is paid there may be mistyped.
  const spelled = word(entry.payTo) ?? ''
  const payTo = hasWrongChecksum(spelled) ? spelled : account(entry.payTo)
  const { maxTimeoutSeconds } = entry
  if (scheme === undefined || network === undefined || !network.includes(':')) return undefined
  if (amount === undefined || asset === undefined || payTo === undefined) return undefined
  if (!isSeconds(maxTimeoutSeconds)) return undefined
  return {
    scheme,
    network,
    amount: amount.toString(),
    asset,
    payTo,
    maxTimeoutSeconds,
    extra: readExtra(entry.extra),
  }
}

/** Whether two spellings are one EVM address. */
export function isSameAddress(a: string, b: Address): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

function word(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_WORD_CHARS) return undefined
  return /^[\x21-\x7e]+$/.test(value) ? value : undefined
}

/** Networks other than EVM's have accounts of other shapes. */
function account(value: unknown): string | undefined {
  const text = word(value)
  if (text === undefined) return undefined
  return isAddress(text, { strict: false }) ? getAddress(text) : text
}

function isSeconds(value: unknown): value is number {
  return (
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIMEOUT_SECONDS
  )
}

function readExtra(extra: unknown): QuotedTerms['extra'] {
  const kept: QuotedTerms['extra'] = {}
  if (!isRecord(extra)) return kept
  for (const name of extraNames) {
    const value = Object.hasOwn(extra, name) ? extra[name] : undefined
    if (typeof value === 'string') kept[name] = cleanText(value, MAX_EXTRA_CHARS)
    else if (typeof value === 'number' && Number.isFinite(value)) kept[name] = value
  }
  return kept
}
