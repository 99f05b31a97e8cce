import { type Address, concatHex, type Hex, keccak256 } from 'viem'
import { addressWord, wordOf } from './abi.js'
import { type Deployment, deployedAddress } from './deployments.js'
import { relayerMulticallCode } from './relayer-multicall-bytecode.js'

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
