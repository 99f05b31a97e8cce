import type { Address } from 'viem'
import { asQuantity, parseQuantity, toQuantity } from './abi.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/**
 * Reads how many transactions of the account are on chain, from the node that has seen most: a lower count is an old one.
 * Throws `RpcUnavailableError`.
 */
export async function readTransactionCount(rpc: Rpc, address: Address): Promise<number> {
  const answers = await rpc.everywhere('eth_getTransactionCount', [address, 'latest'])
  const counts = answers.flatMap((answer) => {
    const count = answer.ok ? asQuantity(answer.value) : undefined
    return count === undefined ? [] : [Number(count)]
  })
  if (counts.length > 0) return Math.max(...counts)
  throw new RpcUnavailableError('no chain node answered with a transaction count')
}

/** Reads what the account can pay for gas, 18-decimal units. Throws `RpcUnavailableError`. */
export async function readGasMoney(rpc: Rpc, address: Address): Promise<bigint> {
  return parseQuantity(await rpc.request('eth_getBalance', [address, 'latest']))
}

/** Reads which of these accounts have code, by default in the newest block. Throws `RpcUnavailableError`. */
export type ReadCoded = (
  accounts: readonly Address[],
  block?: number | 'latest',
) => Promise<Set<Address>>

/**
 * Creation code that returns a byte for each address (20 bytes) appended to it: 1 where `extcodesize` is not zero. No
 * account's code runs. An account that has delegated its code (EIP-7702) has the code of the delegation.
 *
 *   PUSH1 46, PUSH1 32                          offset of the first address, place of the first answer
 *   JUMPDEST, CODESIZE, DUP3, LT, ISZERO, PUSH1 38, JUMPI
 *   PUSH1 20, DUP3, PUSH0, CODECOPY, PUSH0, MLOAD, PUSH1 96, SHR, EXTCODESIZE, ISZERO, ISZERO, DUP2, MSTORE8
 *   PUSH1 1, ADD, SWAP1, PUSH1 20, ADD, SWAP1, PUSH1 4, JUMP
 *   JUMPDEST, PUSH1 32, SWAP1, SUB, PUSH1 32, RETURN
 */
const CODED =
  '0x602e60205b388210156026576014825f395f5160601c3b15158153600101906014019060045' +
  '65b602090036020f3'

/** Creation code is bounded by 49,152 bytes (EIP-3860). */
const MAX_ACCOUNTS = 2_000
/** The first access to an account takes 2,600, a byte of the answer 200. */
const GAS_PER_ACCOUNT = 3_500

export function createCodedReader(rpc: Rpc): ReadCoded {
  return async (accounts, block = 'latest') => {
    const asked = [...new Set(accounts)]
    if (asked.length === 0) return new Set()
    if (asked.length > MAX_ACCOUNTS) throw new Error(`${asked.length} accounts are too many`)
    const data = CODED + asked.map((account) => account.slice(2)).join('')
    const gas = toQuantity(BigInt(200_000 + asked.length * GAS_PER_ACCOUNT))
    const at = block === 'latest' ? block : toQuantity(block)
    const answer = await rpc.request('eth_call', [{ data, gas }, at])
    if (typeof answer !== 'string' || answer.length !== 2 + asked.length * 2) {
      throw new RpcUnavailableError(
        'the chain node answered the read of account codes in another shape',
      )
    }
    return new Set(asked.filter((_, i) => answer.slice(2 + i * 2, 4 + i * 2) === '01'))
  }
}

/** Reads which of these accounts used a nonce of their own in a block, as a change of delegated code does. */
export async function readActiveIn(
  rpc: Rpc,
  accounts: readonly Address[],
  block: number,
): Promise<Address[]> {
  const countsAt = async (at: number) =>
    (
      await rpc.batch(
        accounts.map((account) => ({
          method: 'eth_getTransactionCount',
          params: [account, toQuantity(at)],
        })),
      )
    ).map((answer) => (answer.ok ? parseQuantity(answer.value) : undefined))
  const [before, after] = await Promise.all([countsAt(block - 1), countsAt(block)])
  return accounts.filter((_, i) => before[i] !== after[i])
}
