import type { z } from 'zod'
import type { DescribedCode } from '../http-codes.js'

/** The groups operations are shown in, in this order. */
export const tags = {
  Payments: 'Verify a signed payment, settle it, look it up.',
  Discovery: 'Paid APIs that settle here, for agents and people.',
  Directory: 'Merchants and their listings; writes are signed by the wallet that owns them.',
  Activity: 'What happened at the endpoints of a merchant.',
  Session: 'Sign in with a wallet, to read only.',
  Service: 'How this service stands, and what it is.',
} as const

export type Tag = keyof typeof tags

/** What a route does, in words and in the schemas that its requests and answers are held to. */
export interface Operation {
  /** Unique in the document; the name a generated client calls it by. */
  id: string
  tag: Tag
  /** One line without a full stop. */
  summary: string
  /** Markdown. */
  description?: string
  /** Of the path, each required. */
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** The body may be left out. */
  isBodyOptional?: boolean
  /** Needs the cookie of a session. */
  needsSession?: boolean
  /** What it answers when it does what it was asked for, by status. */
  answers: Readonly<Record<number, Answer>>
  /** Its refusals, beside those every route has. */
  codes?: readonly DescribedCode[]
  /** By name; a test sends each of them. */
  examples?: Readonly<Record<string, Example>>
}

export interface Answer {
  description: string
  /** Without one, the body is text of `type`, or there is none. */
  schema?: z.ZodType
  /** `application/json` unless said, where there is a schema. */
  type?: string
  /** Description by name. */
  headers?: Readonly<Record<string, string>>
}

/** A request as somebody would send it, and what it is answered with on a fresh devnet. */
export interface Example {
  summary: string
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: unknown
  status: number
  /** Left out where the answer is no JSON, or would only repeat another one. */
  answer?: unknown
}
