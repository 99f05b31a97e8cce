import { ArcusError } from '@arcus/client/calls'

const REJECTED = 4001
const UNAUTHORISED = 4100
const BUSY = -32002

/** Returns whether the person refused in the wallet, or closed it. */
export function isRejection(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, name }) =>
      code === REJECTED || code === 'ACTION_REJECTED' || name === 'UserRejectedRequestError',
  )
}

/** Describes an error of the wallet or of the service for the person. */
export function describeError(error: unknown): string {
  if (isRejection(error))
    return 'You refused in the wallet. Nothing was sent, and nothing is lost here.'
  const all = chainOf(error)
  if (all.some(({ code }) => code === BUSY)) {
    return 'The wallet is already waiting for your answer. Open it and answer there.'
  }
  if (all.some(({ code }) => code === UNAUTHORISED)) {
    return 'The wallet does not let this page use the account. Connect it again.'
  }
  if (error instanceof ArcusError) return error.message
  const [first] = all
  const message = first?.shortMessage ?? first?.message
  return message === undefined || message === '' ? 'The wallet gave no reason.' : message
}

interface Link {
  code?: unknown
  name?: string
  message?: string
  shortMessage?: string
}

/** Returns the error and its causes, outermost first. */
function chainOf(error: unknown): Link[] {
  const links: Link[] = []
  let link: unknown = error
  while (typeof link === 'object' && link !== null && links.length < 10) {
    links.push(link as Link)
    link = (link as { cause?: unknown }).cause
  }
  return links
}
