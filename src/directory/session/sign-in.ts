import { randomBytes } from 'node:crypto'
import { sessionCookies } from '@arcus/protocol/answers/session-cookies'
import { type Address, type Hex, hashMessage, isAddress, recoverAddress } from 'viem'
import { parseSiweMessage } from 'viem/siwe'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { httpFault } from '../../http/errors.js'
import type { Origin, Session, SessionStore } from '../store/sessions.js'

export type Sessions = ReturnType<typeof createSessions>

export const SESSION_SECONDS = 3_600
const NONCE_MS = 300_000

/**
 * Creates the nonces and sessions, which end in time. `now` is in Unix milliseconds; `url` is that of the directory, which
 * the cookies of a session belong to.
 */
export function createSessions(store: SessionStore, now: () => number, url: string) {
  return {
    cookies: sessionCookies(url),
    /** Issues a nonce to sign, which is valid once and for five minutes. */
    async issueNonce(from: Origin) {
      const nonce = randomBytes(16).toString('hex')
      const expiresAt = now() + NONCE_MS
      await store.addNonce(nonce, expiresAt, from)
      return { nonce, expiresAt }
    },
    /** Uses a nonce up. Returns whether it was issued here, unused and in time. */
    async takeNonce(nonce: string): Promise<boolean> {
      const expiresAt = await store.takeNonce(nonce)
      return expiresAt !== undefined && expiresAt > now()
    },
    async open(address: Address, from: Origin): Promise<{ id: string; session: Session }> {
      const id = randomBytes(32).toString('base64url')
      const session = { address, expiresAt: now() + SESSION_SECONDS * 1000 }
      await store.addSession(id, session, from)
      return { id, session }
    },
    async find(id: string | undefined): Promise<Session | undefined> {
      const session = id === undefined ? undefined : await store.findSession(id)
      return session !== undefined && session.expiresAt > now() ? session : undefined
    },
    close: (id: string) => store.removeSession(id),
  }
}

interface SignInOptions {
  sessions: Sessions
  /** Host and port of the directory, as the wallet shows them. */
  domain: string
  /** Origin of the directory. */
  uri: string
  chainIds: readonly number[]
  /** Asks a contract wallet; rejects when the chain cannot be read. */
  isContractSignature(claim: { address: Address; hash: Hex; signature: Hex }): Promise<boolean>
  /** Unix milliseconds. */
  now: () => number
}

type SignInResult = { ok: true; address: Address } | { ok: false; message: string }

/** No message of ours is longer. */
const MAX_MESSAGE_CHARS = 4_000
const MAX_SIGNATURE_CHARS = 2 + 2 * 8_192
const SKEW_MS = 60_000

/**
 * Creates the check of sign-in messages (ERC-4361): for this directory, in time, with an unused nonce, and signed by the
 * address they name. Rejects with 503 when only the chain could decide and does not answer.
 */
export function createSignIn(options: SignInOptions) {
  return async (message: string, signature: string): Promise<SignInResult> => {
    if (message.length > MAX_MESSAGE_CHARS) return refused('the message is too long')
    if (signature.length > MAX_SIGNATURE_CHARS || !/^0x([0-9a-fA-F]{2})+$/.test(signature)) {
      return refused('the signature must be hex bytes with 0x prefix')
    }
    const fields = parseSiweMessage(message)
    const { address, nonce } = fields
    if (address === undefined || !isAddress(address)) return refused('the message names no address')
    const problem = problemOf(fields, options)
    if (problem !== undefined) return refused(problem)
    if (nonce === undefined || !(await options.sessions.takeNonce(nonce))) {
      return refused('the nonce was not issued here, was used, or is too old: ask for another')
    }
    const claim = { address, hash: hashMessage(message), signature: signature as Hex }
    const isSigned = (await isSignedByKey(claim)) || (await isSignedByContract(claim, options))
    if (!isSigned) return refused('the signature is not by the address the message names')
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
    throw httpFault(
      'chain_unavailable',
      'The signature is not by the key of the address, and the chain could not be asked whether it is by a contract; sign in again.',
      5,
    )
  }
}

function refused(message: string): SignInResult {
  return { ok: false, message }
}
