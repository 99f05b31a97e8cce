/** The state of the service in one minute. `degraded`: payments settle, and the operator should look at it. */
export type Standing = 'ready' | 'degraded' | 'down'

export interface ServiceMinute {
  /** Its first Unix second. */
  at: number
  standing: Standing
  /** Why it is not ready, for anybody to read. */
  reason: string
}

/** Minutes of an hour by state. */
export interface ServiceHour extends Record<Standing, number> {
  /** Its first Unix second. */
  hour: number
  /** The first Unix second of the first minute that was noted. */
  firstAt: number
}

export interface ServiceIncident {
  /** Unix seconds. */
  startedAt: number
  /** `null` while it lasts. */
  endedAt: number | null
  /** `silent`: nothing was noted, because the service was stopped or its database was away. */
  kind: Exclude<Standing, 'ready'> | 'silent'
  reason: string
}

/** Settles of one day that took up to so many milliseconds. */
export interface SettleStep {
  upToMs: number
  count: number
}

/** Remembers for 90 days whether payments could settle. */
export interface ServiceHistory {
  /** Notes a minute, unless it or a later one was noted: of several processes one counts. */
  note(minute: ServiceMinute): Promise<void>
  /** Hours that begin between these Unix seconds, oldest first. */
  hours(since: number, until: number): Promise<ServiceHour[]>
  /** The newest ones before a Unix second, newest first. */
  incidents(until: number, limit: number): Promise<ServiceIncident[]>
  /** Settle times of everybody in the day that begins with this Unix second. */
  settleSteps(day: number): Promise<SettleStep[]>
}

export const SERVICE_DAYS = 90
