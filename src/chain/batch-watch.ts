import { readHasBatchSettlement } from './batch-settlement.js'
import type { Rpc } from './rpc.js'

/** Tells whether the contracts of `batch-settlement` stand on a network. */
export interface BatchWatch {
  isDeployed(): boolean
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
  const tell = () => log.info({ isDeployed }, 'contracts of batch-settlement looked for')
  tell()
  const check = async () => {
    const found = await readHasBatchSettlement(rpc).catch(() => isDeployed)
    if (found === isDeployed) return
    isDeployed = found
    tell()
  }
  const timer = setInterval(() => void check(), checkMs)
  return { isDeployed: () => isDeployed, stop: () => clearInterval(timer) }
}
