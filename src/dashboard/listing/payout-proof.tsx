import type { MerchantView } from '../api/types.js'
import { Button } from '../components/button.js'
import { Card, Section } from '../components/card.js'
import { Hex } from '../components/hex.js'
import { sameAddress } from '../format/hostile-text.js'
import { useWrite } from './use-write.js'
import { WriteOutcome } from './write-outcome.js'

/**
 * Where another address than the owner's is paid: whether its key has confirmed the owner, and the signature that does.
 * Nothing where the owner is paid himself, or the operator stands for the address.
 */
export function PayoutProof({
  merchant,
  address,
}: {
  merchant: MerchantView
  address: string | undefined
}) {
  const { id, owner, payTo, payToProof } = merchant
  const confirm = useWrite((client, next: `0x${string}` | null) => client.confirmPayTo(id, next))
  if (owner === null || payToProof === 'owner' || payToProof === 'operator') return null
  const isConfirmed = payToProof === 'confirmation'
  const isPaid = sameAddress(address, payTo)
  return (
    <Section
      title="Payout address"
      note="Anybody can name an address to be paid. Payments count as this listing’s activity once the key of that address says that it stands behind the owner."
    >
      <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
        <span>
          <Hex hex={payTo} kind="address" />{' '}
          {isConfirmed ? 'has confirmed the owner.' : 'has not confirmed the owner yet.'}
        </span>
        <Button
          look={isConfirmed ? 'quiet' : 'secondary'}
          isBusy={confirm.isPending}
          disabled={!isPaid}
          onClick={() => confirm.mutate(isConfirmed ? null : (owner as `0x${string}`))}
        >
          {isConfirmed ? 'Take it back' : 'Sign and confirm'}
        </Button>
      </Card>
      {!isPaid && (
        <p className="text-sm text-muted">
          To sign it, switch to the wallet of the payout address.
        </p>
      )}
      <WriteOutcome
        write={confirm}
        done={isConfirmed ? 'Confirmed. Payments count from now on.' : 'Taken back.'}
      />
    </Section>
  )
}
