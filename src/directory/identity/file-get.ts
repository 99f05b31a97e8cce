import type { GuardedFetch } from '../probe/guarded-fetch.js'
import type { GuardedGet } from './registration-file.js'

/** Makes the GET of registration files out of the client that calls addresses strangers gave us. */
export function createFileGet(fetch: GuardedFetch): GuardedGet {
  return async (url) => {
    const answer = await fetch({ url, method: 'GET' })
    if (answer.kind !== 'answer') return { ok: false, reason: asClause(answer.message) }
    const { status } = answer.head
    if (status !== 200) return { ok: false, reason: `the host answered ${status}` }
    return { ok: true, text: answer.body }
  }
}

/** A sentence as the end of another. */
function asClause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '')
}
