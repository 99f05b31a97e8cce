import type { ServiceStatus } from '../../api/service.js'

export interface Standing {
  tone: 'ok' | 'warn' | 'bad'
  title: string
}

/** Says in a few words whether payments settle now: fully, with a part of the wallets, or not at all. */
export function standingOf({ status, checks, networks }: ServiceStatus): Standing {
  if (status !== 'ready') return { tone: 'bad', title: 'Payments cannot settle at this moment' }
  for (const { name, lanes } of networks) {
    const working = lanes.filter(({ state }) => state === 'open').length
    if (working === lanes.length) continue
    const where = networks.length > 1 ? ` on ${name}` : ''
    const title = `Degraded: ${working} of ${lanes.length} relayer wallets${where}`
    return { tone: 'warn', title }
  }
  const hasWarning = checks.some(({ warning }) => warning === true)
  return hasWarning
    ? { tone: 'warn', title: 'Payments settle, with a warning' }
    : { tone: 'ok', title: 'Payments settle' }
}
