import type { ServiceStatus } from '../../api/service.js'
import { words } from './words.js'

export interface Standing {
  tone: 'ok' | 'warn' | 'bad'
  title: string
}

/** Says in a few words whether payments settle now: fully, with a part of the wallets, or not at all. */
export function standingOf({ status, checks, networks }: ServiceStatus): Standing {
  if (status !== 'ready') return { tone: 'bad', title: words.standing.down }
  for (const { name, lanes } of networks) {
    const working = lanes.filter(({ state }) => state === 'open').length
    if (working === lanes.length) continue
    const title =
      networks.length > 1
        ? words.standing.degradedOn(working, lanes.length, name)
        : words.standing.degraded(working, lanes.length)
    return { tone: 'warn', title }
  }
  const hasWarning = checks.some(({ warning }) => warning === true)
  return hasWarning
    ? { tone: 'warn', title: words.standing.warning }
    : { tone: 'ok', title: words.standing.up }
}
