import { channelContracts, permit2Contracts } from '@arcus/protocol/x402/address'
import { type Address, concatHex, getContractAddress, type Hex, keccak256 } from 'viem'
import { addressWord } from './abi.js'

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
