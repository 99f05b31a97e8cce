import { writeEnvelope } from '@arcus/protocol/answers/writes'
import { listingLimits as limits } from '@arcus/protocol/listing/listing'
import {
  canonicalJson,
  type ListingAction,
  type ListingWriteJson,
  listingActions,
  listingTypedData,
  toListingWrite,
} from '@arcus/protocol/listing/listing-write'
import { quote } from '@arcus/protocol/listing/text'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { networks } from '@arcus/protocol/x402/networks'
import { type Address, bytesToHex, type Hex, hashTypedData, hexToBytes, stringToBytes } from 'viem'
import type { z } from 'zod'
import { createHourlyCounts } from '../../async/limits.js'
import { DAY_SECONDS } from '../../async/time.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import { blockOf } from '../../http/rate-limit.js'
import { missingFault, parseBody, parseRequest, type RefusalCode, WriteFault } from '../refusals.js'
import type { ListingReader, Merchant, SignedWrite } from '../store/listings.js'

/** Parses the request of a write. Throws a `WriteFault`: `invalid_write`, `unknown_action` or `invalid_listing`. */
function parseEnvelope(request: unknown) {
  const { message, body, ...rest } = parseRequest(writeEnvelope, request, 'invalid_write')
  if (body === undefined) throw new WriteFault('invalid_write', 'body is required.')
  const action = listingActions.find((known) => known === message.action)
  if (action !== undefined) return { ...rest, body, message: { ...message, action } }
  const text = `message.action ${quote(message.action)} is not one of ${listingActions.join(', ')}.`
  throw new WriteFault('unknown_action', text)
}

/** A write whose message, body, owner, revision and signature are right. The store checks owner and revision again. */
export interface CheckedWrite<Body> {
  write: Omit<SignedWrite, 'acceptedAt'>
  body: Body
  /** The merchant before the write; `undefined` for a new one. */
  merchant: Merchant | undefined
}

interface WriteCheckOptions {
  listings: Pick<ListingReader, 'findMerchant' | 'historyOf'>
  audience: string
  chainId: number
  checkSignature: SignatureCheck
  keccak256: Keccak256
  /** Returns whether the operator refuses payments to the address, which is in lower case. */
  isPayToBlocked: (payTo: Address) => boolean
  /** Unix milliseconds. */
  now: () => number
}

interface ExpectedWrite<Body> {
  merchantId: string
  /** Actions that the route takes: `fresh` for a merchant without a listing, `standing` for one with a listing. */
  actions: { fresh?: ListingAction; standing: ListingAction }
  schema: z.ZodType<Body>
  /** Returns the payTo after the write; the present one by default. */
  payToOf?: (body: Body) => Address
  /** Runs what takes milliseconds for a large body; at once by default. */
  inTurn?: <Value>(work: () => Value) => Promise<Value>
}

export type WriteCheck = <Body>(
  request: unknown,
  expected: ExpectedWrite<Body>,
) => Promise<CheckedWrite<Body>>

/**
 * Creates the check of signed writes. Cheap checks come first: the shape of the message, audience and chain, clock, owner
 * and revision, signature. A body may be large, so that it is hashed and read once its message is found to be signed.
 * Throws a `WriteFault` with the code of the first problem; the clock is that of the call.
 */
export function createWriteCheck(options: WriteCheckOptions): WriteCheck {
  const { listings, audience, chainId, checkSignature, keccak256, isPayToBlocked, now } = options

  return async (request, expected) => {
    const receivedAt = Math.floor(now() / 1000)
    const envelope = parseEnvelope(request)
    const { message, signature } = envelope
    checkAddressee(message, expected)
    checkAudience(message, audience)
    if (envelope.chainId !== undefined && envelope.chainId !== chainId) throw chainFault(chainId)
    checkClock(message, receivedAt)
    const merchant = await listings.findMerchant(expected.merchantId)
    await checkStanding(listings, message, merchant, { ...expected, receivedAt })
    const hashOn = (chain: number) => hashOf(message, chain)
    await checkSignature({ signer: message.owner, member: 'owner', hashOn }, signature)
    const { inTurn = async (work) => work() } = expected
    const canonicalBody = await inTurn(() =>
      checkBodyHash(envelope.body, message.bodyHash, keccak256),
    )
    const body = await inTurn(() => parseBody(expected.schema, envelope.body))
    const payTo = expected.payToOf?.(body)
    checkPayTo(message, payTo ?? merchant?.payTo)
    if (payTo !== undefined && isPayToBlocked(payTo.toLowerCase() as Address)) {
      throw payToRefusedFault(payTo)
    }
    return {
      body,
      merchant,
      write: {
        merchantId: message.merchantId,
        revision: message.revision,
        owner: message.owner,
        nonce: message.nonce,
        action: message.action,
        message: JSON.stringify(message),
        body: canonicalBody,
        signature,
      },
    }
  }
}

/** Throws a `WriteFault` for a message that was signed for another directory. */
function checkAudience(message: { audience: string }, audience: string): void {
  if (message.audience === audience) return
  const text = `message.audience must be ${audience}, the address of this directory; it is ${quote(message.audience)}.`
  throw new WriteFault('wrong_audience', text)
}

function checkAddressee(
  { action, merchantId }: ListingWriteJson,
  { actions, merchantId: addressed }: Pick<ExpectedWrite<unknown>, 'actions' | 'merchantId'>,
): void {
  if (action !== actions.standing && action !== actions.fresh) {
    const wanted = [actions.fresh, actions.standing].filter(Boolean).join(' or ')
    throw new WriteFault('wrong_action', `message.action is ${action}; this route takes ${wanted}.`)
  }
  if (merchantId !== addressed) {
    const text = `message.merchantId ${quote(merchantId)} is not the merchant of the path.`
    throw new WriteFault('wrong_merchant', text)
  }
}

/** Throws a `WriteFault` for a message of another time (Unix seconds). */
function checkClock(
  { issuedAt, deadline }: Pick<ListingWriteJson, 'issuedAt' | 'deadline'>,
  now: number,
): void {
  const { skewSeconds } = limits.issuedAt
  const { maxAheadSeconds } = limits.deadline
  if (issuedAt > now + skewSeconds) {
    const text = `message.issuedAt is ${issuedAt - now} seconds ahead; ${skewSeconds} are allowed.`
    throw new WriteFault('issued_in_future', text)
  }
  if (deadline <= now) {
    throw new WriteFault('write_expired', `message.deadline passed ${now - deadline} seconds ago.`)
  }
  if (deadline <= issuedAt) {
    throw new WriteFault('deadline_too_far', 'message.deadline must be after message.issuedAt.')
  }
  // Counted from both ends: a message signed long ago is as suspicious as one that lasts long.
  if (deadline > now + maxAheadSeconds || deadline > issuedAt + maxAheadSeconds + skewSeconds) {
    const text = `message.deadline must be at most ${maxAheadSeconds} seconds ahead, and after message.issuedAt.`
    throw new WriteFault('deadline_too_far', text)
  }
}

/** Checks owner and revision against the row, for an early answer before anything is called. The store checks again. */
async function checkStanding(
  listings: WriteCheckOptions['listings'],
  message: ListingWriteJson,
  merchant: Merchant | undefined,
  { actions, receivedAt }: { actions: ExpectedWrite<unknown>['actions']; receivedAt: number },
): Promise<void> {
  const { owner, nonce, revision, action } = message
  const present = merchant?.revision ?? 0
  if (revision <= present) {
    const [past] = await listings.historyOf(message.merchantId, revision - 1, 1)
    if (past?.owner === owner && past.nonce === nonce) throw replayFault(past)
  }
  if (merchant === undefined || (merchant.deletedAt !== null && actions.fresh === undefined)) {
    if (actions.fresh === undefined) throw missingFault(merchant)
  } else if (action === 'owner.accept') {
    const { offer } = merchant
    if (offer?.to !== owner || offer.until <= receivedAt) throw offerFault()
  } else if (action === 'payto.confirm') {
    if (owner !== merchant.payTo) throw payToFault()
  } else if (owner !== (merchant.owner ?? claimant(merchant, actions))) {
    throw ownerFault(merchant.owner === null)
  }
  if (revision !== present + 1) throw staleFault(present)
  const stands = merchant !== undefined && merchant.deletedAt === null && merchant.owner !== null
  const wanted = stands ? actions.standing : (actions.fresh ?? actions.standing)
  if (action !== wanted) {
    throw new WriteFault('wrong_action', `message.action is ${action}; it must be ${wanted} now.`)
  }
}

/** Returns the key that may claim an unclaimed merchant: the one that is paid, by a save. */
function claimant({ payTo }: Merchant, actions: ExpectedWrite<unknown>['actions']) {
  return actions.fresh === undefined ? undefined : payTo
}

function checkPayTo({ payTo }: ListingWriteJson, expected: Address | undefined): void {
  if (payTo === expected) return
  const text = 'message.payTo must be the payTo that the listing has once the write is accepted.'
  throw new WriteFault('pay_to_mismatch', text)
}

/** Makes the fault of a used nonce. `accepted` is what this message became, for a signer who lost the answer. */
export function replayFault(accepted?: Pick<SignedWrite, 'revision' | 'acceptedAt'>): WriteFault {
  if (accepted === undefined) {
    return new WriteFault('replayed_nonce', 'message.nonce was used before; sign with a fresh one.')
  }
  const { revision, acceptedAt } = accepted
  const text = `The message was accepted before, as revision ${revision}; sign another with a fresh nonce.`
  return new WriteFault('replayed_nonce', text, { revision, acceptedAt })
}

export function staleFault(revision: number): WriteFault {
  const text = `message.revision must be ${revision + 1}: the merchant is at revision ${revision}.`
  return new WriteFault('stale_revision', text, { revision })
}

export function ownerFault(isUnclaimed: boolean): WriteFault {
  const text = isUnclaimed
    ? 'This merchant is unclaimed: only the key of its payTo can claim it, by saving it.'
    : 'message.owner is not the owner of this merchant.'
  return new WriteFault('not_owner', text)
}

function payToRefusedFault(payTo: Address): WriteFault {
  const text = `The operator refuses payments to ${payTo}, so nothing is listed here that is paid there.`
  return new WriteFault('pay_to_not_allowed', text)
}

export function payToFault(): WriteFault {
  const text = 'Only the key of the payTo address can confirm who sees its payments.'
  return new WriteFault('not_pay_to', text)
}

export function offerFault(): WriteFault {
  return new WriteFault('not_offered', 'There is no open offer of this merchant to message.owner.')
}

/** Returns the canonical text of a body whose hash was signed. Throws a `WriteFault` for any other body. */
function checkBodyHash(body: unknown, bodyHash: Hex, keccak256: Keccak256): string {
  const text = canonicalJson(body)
  if (bytesToHex(keccak256(stringToBytes(text))) === bodyHash) return text
  const sentence =
    'The body is not the one that was signed: message.bodyHash must be the keccak256 of its canonical JSON (RFC 8785).'
  throw new WriteFault('body_mismatch', sentence)
}

/** Asks the chain whether a signature is valid for a contract wallet, deployed or not. */
type IsContractSignature = (claim: {
  address: Address
  hash: Hex
  signature: Hex
}) => Promise<boolean>

/** A message, and the address that must have signed it. */
interface Signed {
  signer: Address
  /** The member of the message that names the signer. */
  member: 'owner' | 'payer'
  /** Hashes the message in the domain of a chain. */
  hashOn(chainId: number): Hex
}

/** Throws a `WriteFault` unless the signer signed the message. */
type SignatureCheck = (message: Signed, signature: Hex) => Promise<void>

interface SignatureCheckOptions {
  chainId: number
  recovery: Pick<SignerRecovery, 'recoverSigner'>
  isContractSignature: IsContractSignature
}

/** Characters of 65 bytes: r, s and v. */
const ECDSA_CHARS = 2 + 2 * 65

/**
 * Creates the check of signatures. The key is tried first, whatever code its address has (EIP-7702), then the contract.
 * The contract is asked each time, because it may revoke a signature.
 */
export function createSignatureCheck(options: SignatureCheckOptions): SignatureCheck {
  const { chainId, recovery, isContractSignature } = options

  function isSignedByKey({ signer, hashOn }: Signed, signature: Hex, onChain: number): boolean {
    return recovery.recoverSigner(hexToBytes(hashOn(onChain)), withUsualV(signature)) === signer
  }

  return async (message, signature) => {
    const { signer: address, member, hashOn } = message
    const isPlain = signature.length === ECDSA_CHARS
    if (isPlain && isSignedByKey(message, signature, chainId)) return
    const claim = { address, hash: hashOn(chainId), signature }
    const isAccepted = await isContractSignature(claim).catch((error: unknown) => {
      if (!(error instanceof RpcUnavailableError)) throw error
      const text = `The signature is not by the key of message.${member}, and the chain could not be asked whether it is by a contract; try again.`
      throw new WriteFault('chain_unavailable', text, undefined, 5)
    })
    if (isAccepted) return
    const others = Object.values(networks).filter((network) => network.chainId !== chainId)
    if (isPlain && others.some((other) => isSignedByKey(message, signature, other.chainId))) {
      throw chainFault(chainId)
    }
    const text = `The signature is not by message.${member} over this message in the published domain.`
    throw new WriteFault('invalid_signature', text)
  }
}

function chainFault(chainId: number): WriteFault {
  return new WriteFault('wrong_chain', `Sign with the chain id ${chainId} in the domain.`)
}

function hashOf(message: ListingWriteJson, chainId: number): Hex {
  return hashTypedData(listingTypedData(chainId, toListingWrite(message)))
}

/** Some wallets write the parity as 0 or 1 instead of 27 or 28. */
function withUsualV(signature: Hex): Hex {
  const v = signature.slice(-2)
  if (v !== '00' && v !== '01') return signature
  return `${signature.slice(0, -2) as Hex}${v === '00' ? '1b' : '1c'}`
}

/** A write that passed every check. */
interface CheckedSize {
  owner: Address
  /** Bytes that are kept for ever: message, body and signature. */
  bytes: number
  ip: string
  /** True for a write that can make a listing, or a larger one. */
  isSave: boolean
}

/** Reserves quota for a write, or throws a `WriteFault`. What could not be made gives the quota back. */
export type WriteQuota = <Made>(write: CheckedSize, make: () => Promise<Made>) => Promise<Made>

interface WriteQuotaOptions {
  listings: Pick<ListingReader, 'merchantsOwnedBy'>
  /** New owners from one block of addresses within an hour; 0 is no limit. */
  maxNewOwners: number
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
}

/** Bytes of writes within an hour: eight of the largest by one owner, a few owners of one block, and all new owners. */
const MAX_BYTES = { ofOwner: 4 * 2 ** 20, ofBlock: 16 * 2 ** 20, ofNewOwners: 64 * 2 ** 20 }
/** Bytes that the rows around a message take. */
const ROW_BYTES = 512
/** An owner whose oldest listing is younger than this is new. */
const NEW_SECONDS = DAY_SECONDS
/** Listings of an owner that are read to find their age. */
const MAX_READ = 20

/**
 * Creates the bounds on what owners may have kept: a key costs nothing, and a write is kept for ever. New owners are
 * counted by the addresses they come from; bytes by owner, by those addresses, and over all owners younger than a day.
 * Entries of the operator are not counted.
 */
export function createWriteQuota(options: WriteQuotaOptions): WriteQuota {
  const { listings, maxNewOwners, isDiskLow, now } = options
  const counts = createHourlyCounts(now)

  function refuse(code: RefusalCode, text: string): WriteFault {
    const seconds = counts.secondsLeft()
    const minutes = Math.ceil(seconds / 60)
    const when = `try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
    return new WriteFault(code, `${text}; ${when}.`, undefined, seconds)
  }

  return async ({ owner, bytes, ip, isSave }, make) => {
    if (isSave && isDiskLow()) throw storageFault()
    const owned = await listings.merchantsOwnedBy(owner, MAX_READ)
    const youngest = Math.floor(now() / 1_000) - NEW_SECONDS
    const isNew = !owned.some((it) => it.createdAt <= youngest || it.isOfficial || it.isPartner)
    // Nothing below awaits, so that no other write comes between the check and the count.
    const block = blockOf(ip)
    const newcomer = `newcomer ${block} ${owner}`
    const newcomers = `newcomers ${block}`
    const isCounted = isSave && owned.length === 0 && counts.of(newcomer) === 0
    if (isCounted && maxNewOwners > 0 && counts.of(newcomers) >= maxNewOwners) {
      const text = `Your network has reached the limit of ${maxNewOwners} new owners per hour`
      throw refuse('too_many_new_owners', text)
    }
    const size = bytes + ROW_BYTES
    const parts = [
      { key: `owner ${owner}`, most: MAX_BYTES.ofOwner, who: 'This owner' },
      { key: `block ${block}`, most: MAX_BYTES.ofBlock, who: 'Owners at addresses near yours' },
    ]
    const full = parts.find(({ key, most }) => counts.of(key) + size > most)
    if (full !== undefined) {
      throw refuse('too_much_written', `${full.who} wrote ${full.most} bytes within the hour`)
    }
    if (isNew && counts.of('new owners') + size > MAX_BYTES.ofNewOwners) {
      throw refuse('too_much_written', 'New owners wrote as much within the hour as is kept')
    }
    const undo = [
      ...parts.map(({ key }) => counts.add(key, size)),
      ...(isNew ? [counts.add('new owners', size)] : []),
      ...(isCounted ? [counts.add(newcomer, 1), counts.add(newcomers, 1)] : []),
    ]
    try {
      return await make()
    } catch (error) {
      for (const takeBack of undo) takeBack()
      throw error
    }
  }
}

function storageFault(): WriteFault {
  const text =
    'The disk of this service is nearly full, so that listings are not saved; try again later.'
  return new WriteFault('storage_low', text, undefined, 300)
}
