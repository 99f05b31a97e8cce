import { ApiError } from '../api/http.js'

const REJECTED = 4001
const UNAUTHORISED = 4100
const BUSY = -32002

/** Whether the person said no in the wallet, or closed it. */
export function isRejection(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, name }) =>
      code === REJECTED || code === 'ACTION_REJECTED' || name === 'UserRejectedRequestError',
  )
}

/** What went wrong between the page and a wallet, or what the service answered, as a person is told it. */
export function describeError(error: unknown): string {
  if (isRejection(error))
    return 'You said no in the wallet. Nothing was sent, and nothing is lost here.'
  const all = chainOf(error)
  if (all.some(({ code }) => code === BUSY)) {
    return 'The wallet is already waiting for you: open it and answer there.'
  }
  if (all.some(({ code }) => code === UNAUTHORISED)) {
    return 'The wallet does not let this page use the account. Connect it again.'
  }
  if (error instanceof ApiError) return error.message
  const [first] = all
  const message = first?.shortMessage ?? first?.message
  return message === undefined || message === ''
    ? 'The wallet did not say what went wrong.'
    : message
}

interface Link {
  code?: unknown
  name?: string
  message?: string
  shortMessage?: string
}

/** The error and its causes, outermost first. */
function chainOf(error: unknown): Link[] {
  const links: Link[] = []
  let link: unknown = error
  while (typeof link === 'object' && link !== null && links.length < 10) {
    links.push(link as Link)
    link = (link as { cause?: unknown }).cause
  }
  return links
}
