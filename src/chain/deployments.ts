import { channelContracts, permit2Contracts } from '@arcus/protocol/x402/address'
import {
  type Address,
  concatHex,
  getContractAddress,
  type Hex,
  keccak256,
  toFunctionSelector,
} from 'viem'
import { addressWord, wordOf } from './abi.js'
import { asked, createChainClient } from './client.js'
import { relayerMulticallCode } from './creation-code.js'
import type { Rpc } from './rpc.js'

/** Puts code at an address that depends on code and salt alone. Arc has it in its genesis. */
export const create2Deployer: Address = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
export const permit2Address: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'

/** A contract of x402 that anybody may put at its address on any chain. */
export interface Deployment {
  /** As upstream names it. */
  name: string
  /** Lower case, the same on every chain. */
  address: Address
  /** 32 bytes. */
  salt: Hex
  /** keccak256 of the creation code with its constructor arguments. */
  codeHash: Hex
  constructorArguments: readonly Address[]
  /** A contract without which this one is of no use. */
  needs?: Address
}

const salt = (digits: string): Hex => `0x${digits.padStart(64, '0')}`

/** x402's contracts that a network may still be without, in the order in which they are sent. Arc has the proxy of `upto`. */
export const x402Deployments: readonly Deployment[] = [
  {
    name: 'x402BatchSettlement',
    address: channelContracts.settlement,
    salt: salt('e000000005be885c'),
    codeHash: '0xed07c0a1aeb6bd4b8e28932959d66e9f2c1a2f6ebb1fd3dc5f3fbcf8135850f6',
    constructorArguments: [],
  },
  {
    name: 'ERC3009DepositCollector',
    address: channelContracts.erc3009Collector,
    salt: salt('1800000007a95284'),
    codeHash: '0x14c375650a0800e61520b3ce0973e3787496ec52064fee8a6a022dd4621a8022',
    constructorArguments: [channelContracts.settlement],
  },
  {
    name: 'Permit2DepositCollector',
    address: channelContracts.permit2Collector,
    salt: salt('f800000001a5d4ff'),
    codeHash: '0xb0e21a06321e6c380c8ab8cf34aaf5bbb564e16d9f4d26bfc542a0f8385a5075',
    constructorArguments: [channelContracts.settlement, permit2Address],
    needs: permit2Address,
  },
  {
    name: 'x402ExactPermit2Proxy',
    address: permit2Contracts.exactProxy,
    salt: salt('3000000007263b0e'),
    codeHash: '0xe774d1d5a07218946ab54efe010b300481478b86861bb17d69c98a57f68a604c',
    constructorArguments: [permit2Address],
    needs: permit2Address,
  },
  {
    name: 'x402UptoPermit2Proxy',
    address: permit2Contracts.uptoProxy,
    salt: salt('b000000001db633d'),
    codeHash: '0x74f7a29cbc3c55f87cdef7f7c551643189e8bb62eed9de67753aebc402b83797',
    constructorArguments: [permit2Address],
    needs: permit2Address,
  },
]

/** Returns where the deployer puts code with this hash. */
export function deployedAddress({
  salt,
  codeHash,
}: Pick<Deployment, 'salt' | 'codeHash'>): Address {
  const from = create2Deployer
  const address = getContractAddress({ opcode: 'CREATE2', from, salt, bytecodeHash: codeHash })
  return address.toLowerCase() as Address
}

/**
 * Returns the whole creation code of this contract when `code` is it, with or without constructor arguments; `undefined`
 * when it is anything else.
 */
export function completeCode(deployment: Deployment, code: Hex): Hex | undefined {
  const args = deployment.constructorArguments.map(addressWord).join('')
  return [code, `${code}${args}` as Hex].find((it) => keccak256(it) === deployment.codeHash)
}

/** Encodes the call of the deployer. */
export function encodeDeployment({ salt }: Deployment, code: Hex): Hex {
  return concatHex([salt, code])
}

/** The multicall of the relayers skips a call with one of these errors, written as `decodeRevert` writes errors without a text. */
export const PAYER_IS_SHORT = `custom error ${toFunctionSelector('PayerIsShort()')}`
export const PAYER_HAS_CODE = `custom error ${toFunctionSelector('PayerHasCode()')}`

/** The multicall of these relayers, which anybody may deploy: its address depends on the wallets alone. */
export interface RelayerMulticall extends Deployment {
  creationCode: Hex
}

/** Returns the multicall that only these wallets may call, in whatever order they are named. */
export function relayerMulticallOf(relayers: readonly Address[]): RelayerMulticall {
  const sorted = [...new Set(relayers.map((it) => it.toLowerCase() as Address))].sort()
  const words = [wordOf(32), wordOf(sorted.length), ...sorted.map(addressWord)]
  const creationCode = concatHex([relayerMulticallCode, `0x${words.join('')}`])
  const placed = { salt: `0x${wordOf(0)}`, codeHash: keccak256(creationCode) } as const
  return {
    name: 'RelayerMulticall',
    address: deployedAddress(placed),
    ...placed,
    constructorArguments: [],
    creationCode,
  }
}

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
