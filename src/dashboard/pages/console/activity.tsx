import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useConnection } from 'wagmi'
import { sessionQuery } from '../../api/queries.js'
import type { MerchantView } from '../../api/types.js'
import { Button, ButtonLink } from '../../components/button.js'
import { Card, Empty } from '../../components/card.js'
import { Hex } from '../../components/hex.js'
import { Loaded } from '../../components/loaded.js'
import { Notice } from '../../components/notice.js'
import { Skeleton } from '../../components/skeleton.js'
import { sameAddress } from '../../format/hostile-text.js'
import { useSession } from '../../wallet/session.js'
import { useSigning } from '../../wallet/use-signing.js'
import { describeError, isRejection } from '../../wallet/wallet-error.js'
import { WalletPicker } from '../../wallet/wallet-picker.js'

/** Brings charts and the table with it. */
const ActivityPanel = lazy(async () => ({
  default: (await import('../../activity/activity-panel.js')).ActivityPanel,
}))

/** What happened at a listing's endpoints, for its owner: figures are private, so the wallet signs in to read them. */
export function Activity({ merchant }: { merchant: MerchantView }) {
  const session = useSession()
  const endpoints = merchant.endpoints.map(({ title, method, url, state }) => ({
    id: state.id,
    title,
    method,
    url,
  }))
  if (merchant.owner === null) return null
  if (merchant.payToProof === null) return <Unproven merchant={merchant} />
  return (
    <Loaded query={session} skeleton={<PanelSkeleton />}>
      {(signedIn) =>
        sameAddress(signedIn?.address, merchant.owner) ? (
          <Suspense fallback={<PanelSkeleton />}>
            <ActivityPanel merchantId={merchant.id} endpoints={endpoints} />
          </Suspense>
        ) : (
          <SignIn owner={merchant.owner} />
        )
      }
    </Loaded>
  )
}

/** The service tells nobody what an address receives that has not shown that it stands behind the owner. */
function Unproven({ merchant: { id, payTo } }: { merchant: MerchantView }) {
  return (
    <Card>
      <Empty
        title="Payments do not count here yet"
        action={
          <ButtonLink look="primary" href={`/console/${encodeURIComponent(id)}/settings`}>
            Confirm the payout address
          </ButtonLink>
        }
      >
        This listing is paid at <Hex hex={payTo} kind="address" />, which has not confirmed its
        owner. Its key has to sign once; what is paid from then on shows up here.
      </Empty>
    </Card>
  )
}

function SignIn({ owner }: { owner: string | null }) {
  const { address } = useConnection()
  const { signIn } = useSigning()
  const client = useQueryClient()
  const [isPicking, setIsPicking] = useState(false)
  const login = useMutation({
    mutationFn: signIn,
    onSuccess: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  const isOwner = sameAddress(address, owner)
  return (
    <Card>
      <Empty
        title="Sign in to see payments"
        action={
          address === undefined ? (
            <Button look="primary" onClick={() => setIsPicking(true)}>
              Connect the owner’s wallet
            </Button>
          ) : (
            <Button
              look="primary"
              isBusy={login.isPending}
              disabled={!isOwner}
              onClick={() => login.mutate()}
            >
              Sign in with the wallet
            </Button>
          )
        }
      >
        Who paid, for what and how it went is for the owner only. The signature opens an hour of
        reading; it can change nothing.
      </Empty>
      {login.error !== null && (
        <div className="px-5 pb-5">
          <Notice tone={isRejection(login.error) ? 'warn' : 'bad'} title="Not signed in">
            {describeError(login.error)}
          </Notice>
        </div>
      )}
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </Card>
  )
}

function PanelSkeleton() {
  return (
    <div role="status" aria-label="Loading activity" className="space-y-4">
      <Skeleton className="h-28 w-full !rounded-2xl" />
      <Skeleton className="h-64 w-full !rounded-2xl" />
    </div>
  )
}
