import type { Hex } from 'viem'
import { LeaseLostError } from '../store/leases.js'
import type { Attempt } from '../store/settlement-journal.js'
import type { Fees } from './fees.js'
import type { LaneCore, SlotCall } from './lane-core.js'

/**
 * Makes what signs a transaction of a lane and keeps it, before anybody can send it. Rejects when nothing was kept, with
 * `GasBudgetError` where a budget of gas does not bear it, or when the wallet went to another process meanwhile, which
 * then has it.
 */
export function createSigning(core: LaneCore, requireEpoch: () => number) {
  const { network, chainId, signer, journal, now } = core

  function hashOf(rawTransaction: Hex): Hex {
    const digest = core.keccak256(Buffer.from(rawTransaction.slice(2), 'hex'))
    return `0x${Buffer.from(digest).toString('hex')}`
  }

  return async (
    nonce: number,
    { to, data, gasLimit }: SlotCall,
    fees: Fees,
    jobIds: string[],
  ): Promise<Attempt> => {
    const epoch = requireEpoch()
    const { maxFeePerGas, maxPriorityFeePerGas } = fees
    const fields = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
    const rawTransaction = await signer.sign({ chainId, nonce, to, data, ...fields })
    const attempt: Attempt = {
      hash: hashOf(rawTransaction),
      network,
      relayer: signer.address,
      relayerNonce: nonce,
      rawTransaction,
      ...fields,
      createdAt: now(),
      jobIds,
    }
    await journal.recordAttempt(attempt, epoch, core.gate.bearersOf(jobIds, gasLimit, fees))
    core.onSigned(attempt)
    // Lost while it was kept: whoever has the wallet now finds it there.
    if (core.epoch !== epoch) throw new LeaseLostError(`${signer.address} went to another process`)
    return attempt
  }
}
