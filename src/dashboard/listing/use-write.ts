import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ListingClient } from '../../listing-client/client.js'
import { useSigning } from '../wallet/use-signing.js'

/** One signed write of a listing that is there; everything shown is read anew when it is done. */
export function useWrite<Input>(act: (client: ListingClient, input: Input) => Promise<unknown>) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    onSuccess: () => queries.invalidateQueries(),
  })
}
