/** Owners remembered at once; past this the one not heard of for longest is forgotten. */
const MAX_OWNERS = 10_000

export interface AllowanceOptions {
  /** Endpoints an owner may have checked at once; a full listing six times over unless given. */
  capacity?: number
  /** Further ones, a second; five unless given. */
  perSecond?: number
  /** Unix milliseconds. */
  now: () => number
}

/** What one owner's saves may make this service call. */
export interface SaveAllowance {
  /** Takes that many endpoints; otherwise answers after how many seconds there are enough, and takes none. */
  take(owner: string, endpoints: number): number
}

export function createSaveAllowance({
  capacity = 600,
  perSecond = 5,
  now,
}: AllowanceOptions): SaveAllowance {
  const owners = new Map<string, { left: number; at: number }>()
  return {
    take(owner, endpoints) {
      const at = now()
      const known = owners.get(owner) ?? { left: capacity, at }
      const left = Math.min(capacity, known.left + ((at - known.at) / 1000) * perSecond)
      const isEnough = left >= endpoints
      // Written anew, so that the map stays in order of use.
      owners.delete(owner)
      owners.set(owner, { left: isEnough ? left - endpoints : left, at })
      if (owners.size > MAX_OWNERS) owners.delete(owners.keys().next().value as string)
      return isEnough ? 0 : Math.max(1, Math.ceil((endpoints - left) / perSecond))
    },
  }
}
