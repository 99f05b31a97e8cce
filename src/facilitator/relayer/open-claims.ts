import type { Job } from '../journal/settlement-journal.js'

/** What a job takes from its payer; the value is in units of the token. */
interface Taking extends Pick<Job, 'kind' | 'key'> {
  asset: string
  payer: string
  value: bigint
}

/**
 * Sums of what the jobs of each payer take that are claimed and in no transaction yet. The balance of a payer covers them
 * together, so that nobody fills the journal with payments of which one can settle. Each process counts its own jobs; after a
 * start they come from the journal.
 */
export interface OpenClaims {
  /** Returns what the other open claims of the payer take of the token. Claims under one key count once, and not for it. */
  besides(taking: Omit<Taking, 'value'>): bigint
  /** Counts a job, and returns the function that takes it out again; calling that once more changes nothing. */
  add(taking: Taking): () => void
  /** Counts a job that is being claimed; `undefined` when the balance does not cover it together with the others. */
  cover(taking: Taking, balance: bigint): (() => void) | undefined
}

/** The claims of one payer in one token. The claims under a key count as the largest of them. */
interface PayerClaims {
  sum: bigint
  keys: Map<string, { value: bigint; claims: number }>
}

export function createOpenClaims(): OpenClaims {
  const accounts = new Map<string, PayerClaims>()
  const nameOf = ({ asset, payer }: Omit<Taking, 'value'>) => `${asset}/${payer}`
  const keyOf = ({ kind, key }: Pick<Taking, 'kind' | 'key'>) => `${kind}/${key}`

  const besides: OpenClaims['besides'] = (taking) => {
    const account = accounts.get(nameOf(taking))
    return account === undefined ? 0n : account.sum - (account.keys.get(keyOf(taking))?.value ?? 0n)
  }

  function add(taking: Taking): () => void {
    const [name, key] = [nameOf(taking), keyOf(taking)]
    const account = accounts.get(name) ?? { sum: 0n, keys: new Map() }
    accounts.set(name, account)
    const claims = account.keys.get(key) ?? { value: 0n, claims: 0 }
    account.keys.set(key, claims)
    claims.claims++
    if (taking.value > claims.value) {
      account.sum += taking.value - claims.value
      claims.value = taking.value
    }
    let isCounted = true
    return () => {
      if (!isCounted) return
      isCounted = false
      claims.claims--
      if (claims.claims > 0) return
      account.sum -= claims.value
      account.keys.delete(key)
      if (account.keys.size === 0) accounts.delete(name)
    }
  }

  return {
    besides,
    add,
    cover: (taking, balance) =>
      besides(taking) + taking.value > balance ? undefined : add(taking),
  }
}
