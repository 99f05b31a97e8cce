/** Probes of one hour that found the same. */
export interface ProbeHour {
  /** Its first Unix second. */
  hour: number
  /** `live`, or what was wrong. */
  verdict: string
  count: number
  /** The time that they took together, milliseconds. */
  ms: number
}

/** A price since it was first seen. */
export interface NotedPrice {
  /** `listed` by the owner, `asked` by the endpoint's own 402. */
  source: 'listed' | 'asked'
  /** Unix seconds. */
  at: number
  /** Atomic units. */
  amount: string
  symbol: string
}

/** The history of an endpoint, for anybody. */
export interface EndpointHistory {
  /** Oldest first, from an hour on. */
  probeHours(endpointId: number, since: number): Promise<ProbeHour[]>
  /** Oldest first. */
  notedPrices(endpointId: number): Promise<NotedPrice[]>
}

export const HISTORY_SECONDS = 90 * 86_400
