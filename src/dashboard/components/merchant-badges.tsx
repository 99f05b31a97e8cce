import { Badge } from './badge.js'

/** Who stands behind a listing: the operator, or nobody but its owner. */
export function MerchantBadges({
  official,
  partner,
  unclaimed,
  isVerified,
}: {
  official: boolean
  partner: boolean
  unclaimed: boolean
  isVerified: boolean
}) {
  return (
    <>
      {official && (
        <Badge tone="accent" title="Run by the operator; its revenue goes to the buyback address.">
          Official
        </Badge>
      )}
      {partner && (
        <Badge tone="accent" title="Named a partner by the operator.">
          Partner
        </Badge>
      )}
      {isVerified && (
        <Badge tone="ok" title="The owner controls the ERC-8004 agent that the listing names.">
          Verified agent
        </Badge>
      )}
      {unclaimed ? (
        <Badge title="Found in a settled payment; nobody has claimed it with the paid key.">
          Unclaimed
        </Badge>
      ) : (
        !official && (
          <Badge title="Listed by its owner with a signature. Nobody has reviewed it.">
            Self-serve, unreviewed
          </Badge>
        )
      )}
    </>
  )
}
