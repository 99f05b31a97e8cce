import type { Address, Hex } from 'viem'
import { isObject } from './json.js'

/*
 * The extension `facilitator-attestation` of x402 (draft, revision 2): a signed statement that a facilitator settled a
 * payment. It attributes a transaction to the facilitator. The transaction itself is proven by the chain.
 */

export const FACILITATOR_ATTESTATION = 'facilitator-attestation'

/** The statement. Numbers are decimal strings, addresses have their EIP-55 checksum, hashes are in lower case. */
export interface AttestationPayload {
  version: 1
  /** CAIP-2. */
  network: string
  transaction: Hex
  /** The account that was debited. */
  payer: Address
  /** The account that was credited. */
  payee: Address
  asset: Address
  /** The amount that moved, atomic units. */
  amount: string
  /** The address of the key that signs. */
  facilitator: Address
  /** The fee that the facilitator took of the payment, atomic units. */
  facilitatorFee: string
  /** Unix seconds at which the settlement was observed. */
  observedAt: string
}

export interface Attestation {
  format: 'eip712'
  payload: AttestationPayload
  /** 65 bytes: r, s and v (27 or 28). */
  signature: Hex
}

export const attestationDomain = { name: 'x402 receipt', version: '1', chainId: 1 } as const

const fields = [
  { name: 'version', type: 'uint256' },
  { name: 'network', type: 'string' },
  { name: 'transaction', type: 'string' },
  { name: 'payer', type: 'string' },
  { name: 'payee', type: 'string' },
  { name: 'asset', type: 'string' },
  { name: 'amount', type: 'uint256' },
  { name: 'facilitator', type: 'string' },
  { name: 'facilitatorFee', type: 'uint256' },
  { name: 'observedAt', type: 'uint256' },
] as const

/** The EIP-712 types of the statement. They are fixed by the draft and never travel with an attestation. */
export const attestationTypes = { SettlementAttestation: fields } as const

const DECIMAL = /^(0|[1-9][0-9]{0,77})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** The form of each member of a statement, with the words that say what it must be. */
const forms: { [Name in keyof AttestationPayload]: [(value: unknown) => boolean, string] } = {
  version: [(value) => value === 1, 'must be the number 1'],
  network: [matches(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/), 'must be a CAIP-2 network'],
  transaction: [matches(/^0x[0-9a-f]{64}$/), 'must be a transaction hash in lower case'],
  payer: [matches(ADDRESS), 'must be an address'],
  payee: [matches(ADDRESS), 'must be an address'],
  asset: [matches(ADDRESS), 'must be an address'],
  amount: [matches(DECIMAL), 'must be decimal digits without leading zeros'],
  facilitator: [matches(ADDRESS), 'must be an address'],
  facilitatorFee: [matches(DECIMAL), 'must be decimal digits without leading zeros'],
  observedAt: [matches(/^[1-9][0-9]{0,15}$/), 'must be positive Unix seconds in decimal digits'],
}

function matches(form: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && form.test(value)
}

type ReadAttestation = { ok: true; attestation: Attestation } | { ok: false; problem: string }

/**
 * Reads an attestation of an EVM network from untrusted JSON. It checks the form alone: the caller recovers the signer and
 * compares it with `facilitator`. Members that the draft does not name are dropped.
 */
export function readAttestation(value: unknown): ReadAttestation {
  if (!isObject(value)) return refused('The attestation must be a JSON object.')
  if (value.format !== 'eip712') return refused('format must be "eip712".')
  const { payload, signature } = value
  if (!isObject(payload)) return refused('payload must be a JSON object.')
  for (const [name, [isFormed, rule]] of Object.entries(forms)) {
    if (!isFormed(payload[name])) return refused(`payload.${name} ${rule}.`)
  }
  if (!matches(/^0x[0-9a-fA-F]{130}$/)(signature)) return refused('signature must be 65 bytes.')
  const names = Object.keys(forms) as (keyof AttestationPayload)[]
  const read = Object.fromEntries(names.map((name) => [name, payload[name]]))
  const attestation = { format: 'eip712', payload: read, signature } as unknown as Attestation
  return { ok: true, attestation }
}

function refused(problem: string): ReadAttestation {
  return { ok: false, problem }
}

/** Describes `info` of the extension, as an answer of settle carries it (JSON Schema 2020-12). */
export const attestationInfoSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    attestation: {
      type: 'object',
      properties: {
        format: { const: 'eip712' },
        payload: { type: 'object', required: fields.map(({ name }) => name) },
        signature: { type: 'string', pattern: '^0x[0-9a-f]{130}$' },
      },
      required: ['format', 'payload', 'signature'],
    },
  },
  required: ['attestation'],
} as const
