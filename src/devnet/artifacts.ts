import { readFileSync } from 'node:fs'
import type { Abi, Hex } from 'viem'

export type Artifact = { contractName: string; abi: Abi; bytecode: Hex; deployedBytecode: Hex }

export type ContractName =
  | 'Multicall'
  | 'MockUsdc'
  | 'NativeTransferLog'
  | 'MockIdentityRegistry'
  | 'BatchSettlement'
  | 'Erc3009Collector'

/** Reads a compiled contract of `contracts/artifacts`, where `npm run contracts` puts them. */
export function readArtifact(name: ContractName | (string & {})): Artifact {
  const file = new URL(`../../contracts/artifacts/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Artifact
}
