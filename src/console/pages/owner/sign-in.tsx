import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useConnection } from 'wagmi'
import { sessionQuery } from '../../api/queries.js'
import { Button } from '../../components/button.js'
import { Card, Empty } from '../../components/card.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSigning, WalletFault } from '../../wallet/signing.js'
import { WalletPicker } from '../../wallet/wallet-provider.js'

/** Asks for the sign-in that reading takes. */
export function SignIn({ owner, title }: { owner: string; title: string }) {
  const { address } = useConnection()
  const { signIn } = useSigning()
  const client = useQueryClient()
  const [isPicking, setIsPicking] = useState(false)
  const login = useMutation({
    mutationFn: signIn,
    onSuccess: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  const isOther = address !== undefined && !sameAddress(address, owner)
  return (
    <Card>
      <Empty
        title={title}
        action={
          address === undefined ? (
            <Button variant="primary" onClick={() => setIsPicking(true)}>
              Connect the owner’s wallet
            </Button>
          ) : (
            !isOther && (
              <Button variant="primary" isBusy={login.isPending} onClick={() => login.mutate()}>
                Sign in with the wallet
              </Button>
            )
          )
        }
      >
        {isOther ? (
          <>
            Only its owner sees this: <Hex hex={owner} kind="address" />
          </>
        ) : (
          'Only the owner sees this. The signature allows reading for one hour and cannot change anything.'
        )}
      </Empty>
      {login.error !== null && (
        <div className="px-5 pb-5">
          <WalletFault error={login.error} title="Not signed in" />
        </div>
      )}
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </Card>
  )
}
