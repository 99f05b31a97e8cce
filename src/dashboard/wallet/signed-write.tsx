import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ListingClient, SavedListing } from 'arcus-client/listing-client'
import { merchantQuery } from '../api/queries.js'
import { Notice } from '../components/card.js'
import { say } from '../components/toast.js'
import { useSigning } from './signing.js'
import { describeError, isRejection } from './wallet-error.js'

/**
 * Makes a signed write of a present listing. What the write returned is shown at once. With `done` it is said in the one
 * place of all pages, and if the button is gone then, the focus goes to the heading of its section.
 */
export function useWrite<Input>(
  act: (client: ListingClient, input: Input) => Promise<SavedListing | { id: string }>,
  done?: string,
) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    async onSuccess(saved) {
      const heading = document.activeElement?.closest('section')?.querySelector('h2')
      if ('endpoints' in saved) {
        queries.setQueryData(merchantQuery(saved.id).queryKey, saved)
        void queries.invalidateQueries({ queryKey: ['owned'] })
      } else {
        await queries.invalidateQueries({ queryKey: ['hooks'] })
      }
      if (done === undefined) return
      say(done)
      // The page draws the fresh data first.
      setTimeout(() => document.activeElement === document.body && heading?.focus())
    },
  })
}

/** Shows how a signed write ended, or that the wallet waits for an answer. */
export function WriteOutcome({
  write,
  done,
}: {
  write: { isPending: boolean; isSuccess: boolean; error: unknown }
  /** Said here, unless it is said in the one place of all pages. */
  done?: string
}) {
  if (write.isPending) {
    return (
      <p role="status" className="text-sm text-muted">
        Answer in the wallet.
      </p>
    )
  }
  if (write.error !== null) return <WalletFault error={write.error} title="Not done" />
  return write.isSuccess && done !== undefined ? <Notice tone="ok">{done}</Notice> : null
}

/** Says why nothing was signed, or what `title` says. */
export function WalletFault({ error, title }: { error: unknown; title: string }) {
  const isRejected = isRejection(error)
  return (
    <Notice tone={isRejected ? 'info' : 'bad'} title={isRejected ? 'Not signed' : title}>
      {describeError(error)}
    </Notice>
  )
}
