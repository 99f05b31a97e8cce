import { type NonceAnswer, type SessionAnswer, signInBody } from '@arcus/protocol/answers/session'
import { SMALL_WRITE_BYTES } from '@arcus/protocol/answers/writes'
import '@fastify/cookie'
import { httpCodes } from '@arcus/protocol/answers/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { httpFault } from '../../http/errors.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import { requireProof } from '../listings/merchant-view.js'
import { type OfMerchant, present, WriteFault } from '../refusals.js'
import type { ListingReader, Merchant } from '../store/listings.js'
import type { Origin, Session } from '../store/sessions.js'
import { type createSignIn, SESSION_SECONDS, type Sessions } from './sign-in.js'

const tag = 'Session'

const nonceOperation: Operation = {
  id: 'getSignInNonce',
  tag,
  summary: 'The parts of a sign-in message',
  answers: {
    200: 'For one ERC-4361 message.',
  },
}

const signInOperation: Operation = {
  id: 'signIn',
  tag,
  summary: 'Open a session, which reads and changes nothing',
  answers: {
    200: {
      description: 'Signed in.',
      headers: { 'Set-Cookie': 'The session; no script can read it.' },
    },
  },
  codes: [httpCodes.not_signed_in, httpCodes.chain_unavailable],
}

const sessionOperation: Operation = {
  id: 'getSession',
  tag,
  summary: 'The present session',
  needsSession: true,
  answers: { 200: 'The session.' },
  codes: [httpCodes.not_signed_in],
}

const signOutOperation: Operation = {
  id: 'signOut',
  tag,
  summary: 'End the session, if there is one',
  description:
    'A page that cannot reach the service sets the cookie `arcus_signed_out` (`__Host-arcus_signed_out` over https) instead: a session that comes with it is ended, and opens nothing.',
  answers: { 204: 'The session is ended.' },
}

interface SessionRoutesOptions {
  sessions: Sessions
  signIn: ReturnType<typeof createSignIn>
  domain: string
  uri: string
  chainId: number
  checksum: (address: Address) => Address
}

/**
 * Serves `/api/session`: sign in with a wallet (ERC-4361) to read the figures of one's own listings. The session is a
 * short-lived cookie that no script can read.
 */
export async function sessionRoutes(
  app: FastifyInstance,
  options: SessionRoutesOptions,
): Promise<void> {
  const { sessions, signIn, domain, uri, chainId, checksum } = options
  const { cookies } = sessions
  const attributes = { sameSite: 'strict', secure: uri.startsWith('https:'), path: '/' } as const
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })

  app.get(
    '/api/session/nonce',
    describedAs(nonceOperation),
    async ({ ip }): Promise<NonceAnswer> => {
      const { nonce, expiresAt } = await sessions.issueNonce(originOf(ip))
      const statement = 'Sign in to see the private figures of your listings. This changes nothing.'
      return {
        nonce,
        domain,
        uri,
        chainId,
        version: '1',
        statement,
        expiresAt: secondsOf(expiresAt),
      }
    },
  )

  const signingIn = { bodyLimit: SMALL_WRITE_BYTES, ...describedAs(signInOperation) }
  app.post('/api/session', signingIn, async (request, reply) => {
    const body = signInBody.safeParse(request.body)
    if (!body.success) {
      const text = 'The body must be {"message": string, "signature": string} and nothing else.'
      throw httpFault('invalid_request', text)
    }
    const result = await signIn(body.data.message, body.data.signature)
    if (!result.ok) throw httpFault('not_signed_in', `Sign-in refused: ${result.message}.`)
    const before = request.cookies[cookies.session]
    if (before !== undefined) await sessions.close(before)
    const { id, session } = await sessions.open(result.address, originOf(request.ip))
    setCookie(reply, id, SESSION_SECONDS)
    clearSignOutMark(request, reply)
    return toAnswer(session)
  })

  app.get('/api/session', describedAs(sessionOperation), async (request) =>
    toAnswer(await requireSession(request, sessions)),
  )

  app.delete('/api/session', describedAs(signOutOperation), async (request, reply) => {
    const id = request.cookies[cookies.session]
    if (id !== undefined) await sessions.close(id)
    setCookie(reply, '', 0)
    clearSignOutMark(request, reply)
    return reply.code(204).send()
  })

  /** Clears the mark of an offline sign-out, which a new session or the end of the old one makes obsolete. */
  function clearSignOutMark(request: FastifyRequest, reply: FastifyReply): void {
    if (request.cookies[cookies.signedOut] === undefined) return
    reply.setCookie(cookies.signedOut, '', { ...attributes, maxAge: 0 })
  }

  function setCookie(reply: FastifyReply, value: string, maxAge: number): void {
    reply.setCookie(cookies.session, value, { ...attributes, httpOnly: true, maxAge })
  }

  function toAnswer({ address, expiresAt }: Session): SessionAnswer {
    return { address: checksum(address), expiresAt: secondsOf(expiresAt) }
  }
}

/** Returns the session, or rejects with 401. Ends a session that was signed out while the service was out of reach. */
async function requireSession(request: FastifyRequest, sessions: Sessions): Promise<Session> {
  const { cookies } = sessions
  const { [cookies.session]: id, [cookies.signedOut]: signedOut } = request.cookies
  if (id !== undefined && signedOut !== undefined) await sessions.close(id)
  const session = signedOut === undefined ? await sessions.find(id) : undefined
  if (session === undefined)
    throw httpFault('not_signed_in', 'Sign in with the wallet that owns the listing.')
  return session
}

function originOf(ip: string): Origin {
  return { caller: callerOf(ip), block: blockOf(ip) }
}

function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

export interface OwnerCheckOptions {
  listings: Pick<ListingReader, 'findMerchant'>
  sessions: Sessions
}

/**
 * Returns the merchant if its owner is signed in. Rejects with 401 when nobody is signed in, 404 or 410 without such a
 * merchant, and 403 when it has another owner or its payTo is unproven: the payments to a stranger's address are not for
 * everybody who lists it.
 */
export async function requireOwner(
  request: FastifyRequest<OfMerchant>,
  { listings, sessions }: OwnerCheckOptions,
): Promise<Merchant> {
  const session = await requireSession(request, sessions)
  const merchant = present(await listings.findMerchant(request.params.id))
  if (merchant.owner !== session.address) {
    throw new WriteFault('not_owner', 'Only the owner of this listing may read its activity.')
  }
  requireProof(merchant)
  return merchant
}
