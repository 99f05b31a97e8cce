import { lazy, type ReactNode, Suspense } from 'react'
import { Loaded } from '../../components/loaded.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSession } from '../../wallet/session.js'

/** The code that signs is large, and somebody who is signed in needs none of it. */
const SignIn = lazy(() => import('./sign-in.js').then((it) => ({ default: it.SignIn })))

/** Shows what only the owner may read. Nobody is led away: the sign-in stands in its place until then. */
export function SignedIn({
  owner,
  title,
  skeleton,
  children,
}: {
  owner: string
  title: string
  skeleton: ReactNode
  children: ReactNode
}) {
  const session = useSession()
  return (
    <Loaded query={session} skeleton={skeleton}>
      {(signedIn) =>
        sameAddress(signedIn?.address, owner) ? (
          children
        ) : (
          <Suspense fallback={skeleton}>
            <SignIn owner={owner} title={title} />
          </Suspense>
        )
      }
    </Loaded>
  )
}
