import { useConnection } from 'wagmi'
import type { MerchantView } from '../../api/types.js'
import { sameAddress } from '../../format/hostile-text.js'
import { AgentLink } from '../../listing/agent-link.js'
import { DeleteListing } from '../../listing/delete-listing.js'
import { PayoutProof } from '../../listing/payout-proof.js'
import { Transfer } from '../../listing/transfer.js'

/** What is rarely done: each its own signature. */
export function ListingSettings({ merchant }: { merchant: MerchantView }) {
  const { address } = useConnection()
  const isOwner = sameAddress(address, merchant.owner)
  return (
    <div className="max-w-3xl space-y-12">
      <AgentLink merchant={merchant} isOwner={isOwner} />
      <PayoutProof merchant={merchant} address={address} />
      <Transfer merchant={merchant} isOwner={isOwner} address={address} />
      <DeleteListing merchant={merchant} isOwner={isOwner} />
    </div>
  )
}
