import { z } from 'zod'
import { parseUrl } from '../x402/parse-url.js'

/** Which database, as `DATABASE_URL` names it. */
export type DatabaseUrl =
  | { kind: 'sqlite'; path: string }
  /** The URL as written: it may hold a password. */
  | { kind: 'postgres'; url: string }

/** `sqlite:PATH`, or `postgres://USER:PASSWORD@HOST:PORT/NAME`. A complaint repeats nothing of it. */
export const databaseUrl = () =>
  z.string().transform((text, context): DatabaseUrl => {
    const url = parseDatabaseUrl(text)
    if (typeof url !== 'string') return url
    context.addIssue({ code: 'custom', message: url })
    return z.NEVER
  })

/** The database, or in words what is wrong with the text. */
export function parseDatabaseUrl(text: string): DatabaseUrl | string {
  if (/^postgres(ql)?:/i.test(text)) return parsePostgresUrl(text)
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path === undefined) {
    return 'must be sqlite:PATH, such as sqlite:./data/arcus.db, or postgres://USER:PASSWORD@HOST:PORT/NAME'
  }
  // `sqlite:///var/arcus.db` is how other tools write an absolute path.
  return { kind: 'sqlite', path: path.replace(/^\/\/(?=\/)/, '') }
}

function parsePostgresUrl(text: string): DatabaseUrl | string {
  const form = 'must be written postgres://USER:PASSWORD@HOST:PORT/NAME'
  const url = /^postgres(ql)?:\/\//.test(text) ? parseUrl(text) : undefined
  if (url === undefined) {
    return `${form}; what a password holds besides letters and digits is percent-encoded`
  }
  const { pathname, hostname, searchParams } = url
  if (hostname === '' && !searchParams.has('host')) return `${form}; the host is missing`
  if (!/^\/[^/]+$/.test(pathname)) return `${form}; the name of the database is missing`
  return { kind: 'postgres', url: text }
}
