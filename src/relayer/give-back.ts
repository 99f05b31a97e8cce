import type { LaneCore } from './lane-core.js'
import type { Slot } from './slot.js'

/** The nodes take no transaction of the slot: its jobs travel elsewhere, its nonce is freed or filled. */
export async function giveBack(core: LaneCore, slot: Slot): Promise<void> {
  const { network, signer, journal, slots } = core
  const refused = { ...slot, jobIds: new Set(slot.jobIds) }
  slot.jobIds.clear()
  try {
    if (slots.isOpen(slot) && slot.nonce === core.nextNonce - 1) {
      const { nextNonce: expected } = core
      const { nonce, epoch } = slot
      const isLowered = await journal.setNextNonce(network, signer.address, expected, nonce, epoch)
      if (isLowered && slots.isOpen(slot)) {
        core.nextNonce = slot.nonce
        slots.setAside(slot)
      }
    }
  } finally {
    core.onRefused(refused)
  }
}
