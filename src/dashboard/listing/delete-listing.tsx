import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { MerchantView } from '../api/types.js'
import { Button } from '../components/button.js'
import { Section } from '../components/card.js'
import { Dialog } from '../components/dialog.js'
import { Field, inputLook } from '../components/field.js'
import { useSigning } from '../wallet/use-signing.js'
import { WriteOutcome } from './write-outcome.js'

export function DeleteListing({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Section
      title="Delete"
      note="The listing leaves the directory at once. Its id stays yours, and its signed history stays public."
    >
      <Button look="danger" disabled={!isOwner} onClick={() => setIsAsking(true)}>
        Delete this listing
      </Button>
      {isAsking && <Ask id={merchant.id} onClose={() => setIsAsking(false)} />}
    </Section>
  )
}

function Ask({ id, onClose }: { id: string; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [, go] = useLocation()
  const { write } = useSigning()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => write((client) => client.delete(id)),
    onSuccess: () => {
      go('/console')
      queries.removeQueries({ queryKey: ['merchant', id] })
      return queries.invalidateQueries()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed === id) remove.mutate()
  }
  return (
    <Dialog title="Delete this listing?" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <Field label={`Type ${id} to confirm`}>
          {(field) => (
            <input
              {...field}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              spellCheck={false}
              autoComplete="off"
              className={`${inputLook} font-mono`}
            />
          )}
        </Field>
        <WriteOutcome write={remove} done="Deleted." />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it</Button>
          <Button type="submit" look="danger" isBusy={remove.isPending} disabled={typed !== id}>
            Sign and delete
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
