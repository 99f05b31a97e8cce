import type { ListingClient } from '@arcus/client/listing-client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Notice } from '../components/card.js'
import { say } from '../components/toast.js'
import { useSigning } from './signing.js'
import { describeError, isRejection } from './wallet-error.js'

/**
 * Makes a signed write of a present listing. The page shows what the write returned, and reads the listing again. With
 * `done` it is said in the one place of all pages, and if the button is gone then, the focus goes to the heading of its
 * section.
 */
export function useWrite<Input, Result extends { id: string }>(
  merchantId: string,
  act: (client: ListingClient, input: Input) => Promise<Result>,
  done?: string,
) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    async onSuccess(result) {
      const heading = document.activeElement?.closest('section')?.querySelector('h2')
      if ('endpoints' in result) queries.setQueryData(['merchant', merchantId], result)
      const changed = [['merchant', merchantId], ['hooks', merchantId], ['owned']]
      await Promise.all(changed.map((queryKey) => queries.invalidateQueries({ queryKey })))
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
