import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ListingClient } from 'arcus-client/listing-client'
import { Notice } from '../components/notice.js'
import { useSigning } from './signing.js'
import { describeError, isRejection } from './wallet-error.js'

/** Makes a signed write of a present listing. Everything on the page is read again after it. */
export function useWrite<Input>(act: (client: ListingClient, input: Input) => Promise<unknown>) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    onSuccess: () => queries.invalidateQueries(),
  })
}

/** Shows how a signed write ended, or that the wallet waits for an answer. */
export function WriteOutcome({
  write,
  done,
}: {
  write: { isPending: boolean; isSuccess: boolean; error: unknown }
  done: string
}) {
  if (write.isPending) {
    return (
      <p role="status" className="text-sm text-muted">
        Answer in the wallet.
      </p>
    )
  }
  if (write.error !== null) {
    const rejected = isRejection(write.error)
    return (
      <Notice tone={rejected ? 'warn' : 'bad'} title={rejected ? 'Not signed' : 'Not done'}>
        {describeError(write.error)}
      </Notice>
    )
  }
  return write.isSuccess ? <Notice tone="ok">{done}</Notice> : null
}
