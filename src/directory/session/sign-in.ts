import { type Address, type Hex, hashMessage, isAddress, recoverAddress } from 'viem'
import { parseSiweMessage } from 'viem/siwe'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { RequestFault } from '../../http/errors.js'
import type { Sessions } from './sessions.js'

export interface SignInOptions {
  sessions: Sessions
  /** Host and port of the directory, as the wallet shows it. */
  domain: string
  /** Origin of the directory. */
  uri: string
  chainIds: readonly number[]
  /** Asks a contract wallet; rejects when the chain cannot be read. */
  isContractSignature(claim: { address: Address; hash: Hex; signature: Hex }): Promise<boolean>
  /** Unix milliseconds. */
  now: () => number
}

export type SignInResult = { ok: true; address: Address } | { ok: false; message: string }

/** A message of more than this is not one of ours. */
const MAX_MESSAGE_CHARS = 4_000
const MAX_SIGNATURE_CHARS = 2 + 2 * 8_192
const SKEW_MS = 60_000

/**
 * Checks a sign-in message (ERC-4361): ours, in time, its nonce unused, and signed by who it names. Rejects with 503
 * when only the chain could tell and cannot be asked.
 */
export function createSignIn(options: SignInOptions) {
  return async (message: string, signature: string): Promise<SignInResult> => {
    if (message.length > MAX_MESSAGE_CHARS) return no('the message is too long')
    if (signature.length > MAX_SIGNATURE_CHARS || !/^0x([0-9a-fA-F]{2})+$/.test(signature)) {
      return no('the signature must be hex bytes with 0x prefix')
    }
    const fields = parseSiweMessage(message)
    const { address, nonce } = fields
    if (address === undefined || !isAddress(address)) return no('the message names no address')
    const problem = problemOf(fields, options)
    if (problem !== undefined) return no(problem)
    if (nonce === undefined || !(await options.sessions.takeNonce(nonce))) {
      return no('the nonce was not issued here, was used, or is too old: ask for another')
    }
    const claim = { address, hash: hashMessage(message), signature: signature as Hex }
    const isSigned = (await isSignedByKey(claim)) || (await isSignedByContract(claim, options))
    if (!isSigned) return no('the signature is not by the address the message names')
    return { ok: true, address: address.toLowerCase() as Address }
  }
}

function problemOf(
  fields: ReturnType<typeof parseSiweMessage>,
  { domain, uri, chainIds, now }: SignInOptions,
): string | undefined {
  if (fields.domain !== domain) return `the message must be for ${domain}`
  if (fields.uri !== uri) return `the message must name the URI ${uri}`
  if (fields.chainId === undefined || !chainIds.includes(fields.chainId)) {
    return `the message must name chain ${chainIds.join(' or ')}`
  }
  const { issuedAt, expirationTime, notBefore } = fields
  if (issuedAt !== undefined && issuedAt.getTime() > now() + SKEW_MS) {
    return 'the message was issued in the future'
  }
  if (expirationTime !== undefined && expirationTime.getTime() <= now()) {
    return 'the message has expired'
  }
  if (notBefore !== undefined && notBefore.getTime() > now() + SKEW_MS) {
    return 'the message is not valid yet'
  }
  return undefined
}

async function isSignedByKey(claim: { address: Address; hash: Hex; signature: Hex }) {
  try {
    const signer = await recoverAddress(claim)
    return signer.toLowerCase() === claim.address.toLowerCase()
  } catch {
    return false
  }
}

async function isSignedByContract(
  claim: { address: Address; hash: Hex; signature: Hex },
  { isContractSignature }: SignInOptions,
): Promise<boolean> {
  try {
    return await isContractSignature(claim)
  } catch (error) {
    if (!(error instanceof RpcUnavailableError)) throw error
    throw new RequestFault({
      statusCode: 503,
      code: 'chain_unavailable',
      message:
        'The signature is not of the key of the address, and the chain could not be asked whether it is of a contract; sign in again.',
      headers: { 'retry-after': '5' },
    })
  }
}

function no(message: string): SignInResult {
  return { ok: false, message }
}
