import { readGasMoney } from '../chain/accounts.js'
import { quoteFees } from './fees.js'
import { closedBy, type LaneCore, NO_OP_GAS } from './lane-core.js'
import { newestAttempt, type Slot } from './slot.js'

/** How often a closed lane looks whether it may open again. */
const LOOK_MS = 3_000
/** A lane opens again when it can pay for a few payments. */
const REOPEN_GAS = 500_000n

/** Opens a closed lane once it surely can send: payments are not tried on it. */
export function createReopening(core: LaneCore): { look(): Promise<void> } {
  const { rpc, feed, signer, slots, log, now } = core
  let lookedAt = 0

  /** A transaction that does nothing is the only way to ask whether nodes take any of this wallet. */
  async function offerNothing(fees: NonNullable<ReturnType<typeof quoteFees>>) {
    if (slots.open().length === 0) {
      const nothing = { to: signer.address, data: '0x', gasLimit: NO_OP_GAS } as const
      await core.openAt(core.nextNonce, nothing, [], fees)
    }
    const [lowest] = slots.open()
    if (lowest === undefined) return undefined
    // Its jobs travel elsewhere by now.
    if (newestAttempt(lowest).jobIds.length > 0) await core.replace(lowest)
    const problem = await core.offer(lowest)
    return problem === 'senderBlocked' || problem === 'unknown' ? undefined : lowest
  }

  async function look(): Promise<void> {
    if (now() - lookedAt < LOOK_MS) return
    lookedAt = now()
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, core.maxFeePerGas)
    if (fees === undefined) return
    const gasMoney = await readGasMoney(rpc, signer.address)
    if (gasMoney < fees.maxFeePerGas * REOPEN_GAS) return
    let offered: Slot | undefined
    if (core.closed === closedBy.block) {
      offered = await offerNothing(fees)
      if (offered === undefined) return
    }
    core.closed = undefined
    log.info({ relayer: signer.address }, 'lane open again')
    // Their jobs have gone elsewhere; what is left of them only has to fill the nonces.
    for (const slot of slots.open()) if (slot !== offered) await core.replace(slot)
  }

  return { look }
}
