import '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { RequestFault } from '../../http/request-fault.js'
import { describedAs } from '../../http/route-config.js'
import { SESSION_COOKIE } from '../../http/session-cookie.js'
import type { Session } from '../../store/sessions.js'
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

  app.get('/api/session/nonce', describedAs(nonceOperation), async () => {
    const { nonce, expiresAt } = await sessions.issueNonce()
    const statement = 'Sign in to see the private figures of your listings. This changes nothing.'
    return { nonce, domain, uri, chainId, version: '1', statement, expiresAt: secondsOf(expiresAt) }
  })

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
    const { id, session } = await sessions.open(result.address)
    setCookie(reply, id, SESSION_SECONDS)
    return tell(session)
  })

  app.get('/api/session', describedAs(sessionOperation), async (request) =>
    tell(await requireSession(request, sessions)),
  )

  app.delete('/api/session', describedAs(signOutOperation), async (request, reply) => {
    const id = request.cookies[SESSION_COOKIE]
    if (id !== undefined) await sessions.close(id)
    setCookie(reply, '', 0)
    return reply.code(204).send()
  })

  function setCookie(reply: FastifyReply, value: string, maxAge: number): void {
    reply.setCookie(SESSION_COOKIE, value, {
      httpOnly: true,
      sameSite: 'strict',
      secure: uri.startsWith('https:'),
      path: '/api',
      maxAge,
    })
  }

  function tell({ address, expiresAt }: Session) {
    return { address: checksum(address), expiresAt: secondsOf(expiresAt) }
  }
}

/** Rejects with 401 unless somebody is signed in. */
export async function requireSession(
  request: FastifyRequest,
  sessions: Sessions,
): Promise<Session> {
  const session = await sessions.find(request.cookies[SESSION_COOKIE])
  if (session === undefined) throw notSignedIn('Sign in with the wallet that owns the listing.')
  return session
}

function notSignedIn(message: string): RequestFault {
  return new RequestFault({ statusCode: 401, code: 'not_signed_in', message })
}

function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
