import type { Hex } from 'viem'
import { topics } from '../src/chain/abi.js'
import { call } from '../src/devnet/rpc.js'

export interface Audit {
  /** Successes told that the chain does not bear out. */
  untrue: number
  /** Authorizations the chain has used. */
  landed: number
  /** Gas of all transactions that settled something, by what they settled. */
  gasPerPayment: number
}

interface Receipt {
  transactionHash: Hex
  gasUsed: Hex
  logs: { topics: Hex[] }[]
}

/** Reads every block of the chain, and compares the answers with it. */
export async function auditChain(chainUrl: string, told: ReadonlyMap<Hex, Hex>): Promise<Audit> {
  const head = Number(await call<Hex>(chainUrl, 'eth_blockNumber', []))
  const transactionOf = new Map<Hex, Hex>()
  let gas = 0
  for (let number = 1; number <= head; number++) {
    const block = `0x${number.toString(16)}`
    for (const receipt of await call<Receipt[]>(chainUrl, 'eth_getBlockReceipts', [block])) {
      const used = receipt.logs.filter((log) => log.topics[0] === topics.authorizationUsed)
      for (const { topics: fields } of used) {
        transactionOf.set(fields[2] as Hex, receipt.transactionHash)
      }
      if (used.length > 0) gas += Number(receipt.gasUsed)
    }
  }
  const untrue = [...told].filter(([nonce, hash]) => transactionOf.get(nonce) !== hash).length
  return { untrue, landed: transactionOf.size, gasPerPayment: gas / transactionOf.size }
}
