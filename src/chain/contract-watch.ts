import type { Address } from 'viem'
import { asked, createChainClient } from './client.js'
import type { Rpc } from './rpc.js'

/** Knows whether the contracts that something needs are deployed on a network. */
export interface DeploymentWatch {
  /** Returns whether each of the contracts has code. */
  isDeployed(): boolean
  /** Calls the listener at each change from now on. */
  onChange(listener: (isDeployed: boolean) => void): void
}

/** Watches several groups of contracts, which may have members in common. */
interface ContractWatch<Group extends string> {
  of(group: Group): DeploymentWatch
  stop(): void
}

/** Contracts that were deployed are to be offered within a minute. */
const CHECK_MS = 30_000

/** Reads which of these contracts have code. Throws `RpcUnavailableError`. */
async function readDeployed(rpc: Rpc, addresses: readonly Address[]): Promise<Set<Address>> {
  const client = createChainClient(rpc)
  const codes = await Promise.all(
    addresses.map((address) => asked(client.getCode({ address }), 'the contracts of the schemes')),
  )
  return new Set(addresses.filter((_, i) => codes[i] !== undefined))
}

/** Checks at once and then every half minute; a chain that cannot be read changes nothing. Throws `RpcUnavailableError`. */
export async function watchContracts<Group extends string>(
  rpc: Rpc,
  groups: Record<Group, readonly Address[]>,
  log: { info(details: object, message: string): void },
  checkMs = CHECK_MS,
): Promise<ContractWatch<Group>> {
  const names = Object.keys(groups) as Group[]
  const addresses = [...new Set(names.flatMap((name) => groups[name]))]
  const deployed = new Set<Group>()
  const listeners: { group: Group; notify: (isDeployed: boolean) => void }[] = []

  function note(found: ReadonlySet<Address>): Group[] {
    const changed = names.filter(
      (name) => deployed.has(name) !== groups[name].every((address) => found.has(address)),
    )
    for (const name of changed) if (!deployed.delete(name)) deployed.add(name)
    return changed
  }

  function report(): void {
    const found = Object.fromEntries(names.map((name) => [name, deployed.has(name)]))
    log.info({ deployed: found }, 'contracts of the schemes checked')
  }

  note(await readDeployed(rpc, addresses))
  report()
  const check = async () => {
    const found = await readDeployed(rpc, addresses).catch(() => undefined)
    const changed = found === undefined ? [] : note(found)
    if (changed.length > 0) report()
    for (const { group, notify } of listeners) {
      if (changed.includes(group)) notify(deployed.has(group))
    }
  }
  const timer = setInterval(() => void check(), checkMs)
  return {
    of: (group) => ({
      isDeployed: () => deployed.has(group),
      onChange: (notify) => void listeners.push({ group, notify }),
    }),
    stop: () => clearInterval(timer),
  }
}
