import { httpCodes } from '../../api/errors.js'
import { nonceAnswer, sessionAnswer } from '../../api/session.js'
import type { Operation } from '../../http/operation.js'
import { signInBody } from '../session/sign-in-body.js'

const tag = 'Session'

export const nonceOperation: Operation = {
  id: 'getSignInNonce',
  tag,
  summary: 'What a sign-in message must carry',
  answers: {
    200: {
      description: 'For one ERC-4361 message.',
      schema: nonceAnswer,
    },
  },
  examples: { fresh: { summary: 'A fresh one', status: 200 } },
}

export const signInOperation: Operation = {
  id: 'signIn',
  tag,
  summary: 'Open a session, which reads and changes nothing',
  body: signInBody,
  answers: {
    200: {
      description: 'Signed in.',
      schema: sessionAnswer,
      headers: { 'Set-Cookie': 'The session; no script can read it.' },
    },
  },
  codes: [httpCodes.notSignedIn, httpCodes.chainUnavailable],
  examples: {
    refused: {
      summary: 'Words that are no sign-in message',
      body: { message: 'Let me in.', signature: `0x${'51'.repeat(65)}` },
      status: 401,
      answer: {
        error: 'not_signed_in',
        message: 'Sign-in refused: the message names no address.',
      },
    },
  },
}

export const sessionOperation: Operation = {
  id: 'getSession',
  tag,
  summary: 'Who is signed in',
  needsSession: true,
  answers: { 200: { description: 'The session.', schema: sessionAnswer } },
  codes: [httpCodes.notSignedIn],
  examples: {
    signedOut: {
      summary: 'Nobody',
      status: 401,
      answer: {
        error: 'not_signed_in',
        message: 'Sign in with the wallet that owns the listing.',
      },
    },
  },
}

export const signOutOperation: Operation = {
  id: 'signOut',
  tag,
  summary: 'End the session, if there is one',
  description:
    'A page that cannot reach the service sets the cookie `arcus_signed_out` instead: a session that comes with it is ended, and opens nothing.',
  answers: { 204: { description: 'There is none any more.' } },
  examples: { done: { summary: 'With or without a session', status: 204 } },
}
