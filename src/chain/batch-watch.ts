import { readHasBatchSettlement } from './batch-settlement.js'
import type { Rpc } from './rpc.js'

/** Tells whether the contracts of `batch-settlement` stand on a network. */
export interface BatchWatch {
  isDeployed(): boolean
  /** Hears of each change from here on. */
  onChange(listener: (isDeployed: boolean) => void): void
  stop(): void
}

const CHECK_MS = 60_000

/** Looks at once and then every minute; a chain that cannot be read changes nothing. Throws `RpcUnavailableError`. */
export async function watchBatchContracts(
  rpc: Rpc,
  log: { info(details: object, message: string): void },
  checkMs = CHECK_MS,
): Promise<BatchWatch> {
  let isDeployed = await readHasBatchSettlement(rpc)
  const listeners: ((isDeployed: boolean) => void)[] = []
  const tell = () => log.info({ isDeployed }, 'contracts of batch-settlement looked for')
  tell()
  const check = async () => {
    const found = await readHasBatchSettlement(rpc).catch(() => isDeployed)
    if (found === isDeployed) return
    isDeployed = found
    tell()
    for (const listener of listeners) listener(found)
  }
  const timer = setInterval(() => void check(), checkMs)
  return {
    isDeployed: () => isDeployed,
    onChange: (listener) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
