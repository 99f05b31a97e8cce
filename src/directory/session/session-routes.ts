import '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import type { NonceAnswer, SessionAnswer } from '../../api/session.js'
import { SESSION_COOKIE, SIGNED_OUT_COOKIE } from '../../api/session.js'
import { RequestFault } from '../../http/errors.js'
import { describedAs } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import type { Origin, Session } from '../../store/sessions.js'
import {
  nonceOperation,
  sessionOperation,
  signInOperation,
  signOutOperation,
} from '../openapi/session-operations.js'
import { SESSION_SECONDS, type Sessions } from './sessions.js'
import type { createSignIn } from './sign-in.js'
import { signInBody } from './sign-in-body.js'

export interface SessionRoutesOptions {
  sessions: Sessions
  signIn: ReturnType<typeof createSignIn>
  domain: string
  uri: string
  chainId: number
  checksum: (address: Address) => Address
}

/** Sign in with a wallet (ERC-4361) to read what only the owner may: a short-lived cookie that no script can read. */
export async function sessionRoutes(
  app: FastifyInstance,
  options: SessionRoutesOptions,
): Promise<void> {
  const { sessions, signIn, domain, uri, chainId, checksum } = options
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

  app.post('/api/session', describedAs(signInOperation), async (request, reply) => {
    const body = signInBody.safeParse(request.body)
    if (!body.success) {
      throw new RequestFault({
        statusCode: 400,
        code: 'invalid_request',
        message: 'The body must be {"message": string, "signature": string} and nothing else.',
      })
    }
    const result = await signIn(body.data.message, body.data.signature)
    if (!result.ok) throw notSignedIn(`Sign-in refused: ${result.message}.`)
    const before = request.cookies[SESSION_COOKIE]
    if (before !== undefined) await sessions.close(before)
    const { id, session } = await sessions.open(result.address, originOf(request.ip))
    setCookie(reply, id, SESSION_SECONDS)
    takeBackSignOut(request, reply)
    return tell(session)
  })

  app.get('/api/session', describedAs(sessionOperation), async (request) =>
    tell(await requireSession(request, sessions)),
  )

  app.delete('/api/session', describedAs(signOutOperation), async (request, reply) => {
    const id = request.cookies[SESSION_COOKIE]
    if (id !== undefined) await sessions.close(id)
    setCookie(reply, '', 0)
    takeBackSignOut(request, reply)
    return reply.code(204).send()
  })

  /** Whoever signs in anew is not signed out any more; where the session is ended for good, nothing need say so. */
  function takeBackSignOut(request: FastifyRequest, reply: FastifyReply): void {
    if (request.cookies[SIGNED_OUT_COOKIE] === undefined) return
    reply.setCookie(SIGNED_OUT_COOKIE, '', { sameSite: 'strict', path: '/api', maxAge: 0 })
  }

  function setCookie(reply: FastifyReply, value: string, maxAge: number): void {
    reply.setCookie(SESSION_COOKIE, value, {
      httpOnly: true,
      sameSite: 'strict',
      secure: uri.startsWith('https:'),
      path: '/api',
      maxAge,
    })
  }

  function tell({ address, expiresAt }: Session): SessionAnswer {
    return { address: checksum(address), expiresAt: secondsOf(expiresAt) }
  }
}

/** Rejects with 401 unless somebody is signed in; ends the session of who was signed out without the service knowing. */
export async function requireSession(
  request: FastifyRequest,
  sessions: Sessions,
): Promise<Session> {
  const { [SESSION_COOKIE]: id, [SIGNED_OUT_COOKIE]: signedOut } = request.cookies
  if (id !== undefined && signedOut !== undefined) await sessions.close(id)
  const session = signedOut === undefined ? await sessions.find(id) : undefined
  if (session === undefined) throw notSignedIn('Sign in with the wallet that owns the listing.')
  return session
}

function originOf(ip: string): Origin {
  return { caller: callerOf(ip), block: blockOf(ip) }
}

function notSignedIn(message: string): RequestFault {
  return new RequestFault({ statusCode: 401, code: 'not_signed_in', message })
}

function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
