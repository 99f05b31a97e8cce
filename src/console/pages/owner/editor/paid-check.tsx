import type { MerchantEndpoint, MerchantView } from '@arcus/protocol/answers/listings'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useConnection } from 'wagmi'
import { merchantQuery, settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Note } from '../../../components/card.js'
import { counted } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { useSigning, WriteOutcome } from '../../../wallet/signing.js'
import { DeliveryReport } from '../../merchant/reports.js'

/** A check that was asked for comes within minutes while there is money for the day. */
const LOOK_MS = 5_000

/** Shows what Arcus found when it last bought from a listed API, and lets its owner ask for another purchase. */
export function PaidCheck({
  merchant,
  listed,
  name,
}: {
  merchant: MerchantView
  listed: MerchantEndpoint
  /** The name of the API, for readers of the screen. */
  name: string
}) {
  const { id, owner, payToProof } = merchant
  const { delivery, probe, id: endpointId } = listed.state
  const { address } = useConnection()
  const { data: settings } = useQuery(settingsQuery)
  const { write } = useSigning()
  const ask = useMutation({
    mutationFn: async () => ({
      ...(await write((client) => client.requestCheck(id, endpointId))),
      before: delivery?.last.at,
    }),
  })
  const isWaiting = ask.isSuccess && ask.data.before === delivery?.last.at
  // A free check follows each purchase, and reads the price that was asked.
  const isOlder = (probe?.checkedAt ?? 0) < (delivery?.last.at ?? 0)
  useQuery({
    ...merchantQuery(id),
    refetchInterval: ask.isSuccess && (isWaiting || isOlder) && LOOK_MS,
  })
  const canAsk = settings?.paidChecks && sameAddress(address, owner) && payToProof !== null
  return (
    <>
      {(delivery !== null || settings?.paidChecks) && (
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
          {delivery === null ? (
            <span className="text-sm text-muted">Arcus has not bought from it yet</span>
          ) : (
            <DeliveryReport delivery={delivery} />
          )}
          {canAsk && !isWaiting && (
            <Button
              size="sm"
              isBusy={ask.isPending}
              onClick={() => ask.mutate()}
              aria-label={`Ask for a paid check of ${name}`}
            >
              Ask for a paid check
            </Button>
          )}
        </div>
      )}
      {isWaiting && (
        <Note level="ok">
          Arcus buys from it within minutes, or as soon as the money of the day allows. You may ask{' '}
          {counted(ask.data.left, { one: 'once', other: '# times' })} more within a day.
        </Note>
      )}
      <WriteOutcome write={ask} />
    </>
  )
}
