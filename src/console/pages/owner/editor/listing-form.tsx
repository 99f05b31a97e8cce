import type { MerchantView } from '@arcus/protocol/answers/listings'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useFieldArray, useFormContext, useFormState, useWatch } from 'react-hook-form'
import { useConnection } from 'wagmi'
import { Button } from '../../../components/button.js'
import { Card, Section } from '../../../components/card.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { EndpointRow } from './endpoint-row.js'
import { FormArea, FormText } from './fields.js'
import { type FormValues, idFromName, type Ready } from './form.js'
import { PasteUrl } from './paste-url.js'

const HEALTH_NOTE =
  'Arcus checks each one every six hours. After three failed checks in a row the directory leaves it out until it works again.'

interface ListingFormProps {
  /** The present listing, if there is one. */
  merchant: MerchantView | undefined
  /** The error of the last save. Its problems are in the fields. */
  refused: Error | null
  onReady: (ready: Ready) => void
}

/** Edits the whole listing. The fields come once there is an API to list. */
export function ListingForm({ merchant, refused, onReady }: ListingFormProps) {
  const form = useFormContext<FormValues, unknown, Ready>()
  const { fields, append, remove } = useFieldArray<FormValues, 'endpoints'>({ name: 'endpoints' })
  const { errors, submitCount } = useFormState<FormValues>()
  const { address } = useConnection()
  const element = useRef<HTMLFormElement>(null)
  /** Indexes from which on the rows were added here, and open at first. */
  const [present] = useState(fields.length)
  const isNew = merchant === undefined
  const isEmpty = fields.length === 0
  const hasProblems = Object.keys(errors).length > 0
  const noEndpoints = errors.endpoints?.root?.message ?? errors.endpoints?.message

  // The rows with an invalid field are open by now, so the first one on the page can take the focus.
  useEffect(() => {
    if (submitCount === 0 && refused === null) return
    element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [submitCount, refused])

  const paste = (
    <Card className="p-4 sm:p-5">
      <PasteUrl
        isFirst={isEmpty}
        onAdd={(endpoint, payTo, takesFocus) => {
          append(endpoint, {
            shouldFocus: takesFocus,
            focusName: `endpoints.${fields.length}.title`,
          })
          if (form.getValues('payTo') === '') form.setValue('payTo', payTo || address || '')
        }}
      />
    </Card>
  )
  return (
    <form
      ref={element}
      onSubmit={(event: FormEvent) => void form.handleSubmit(onReady)(event)}
      noValidate
      className="space-y-8"
    >
      <Section title={isNew ? 'Your API' : 'APIs'} note={isNew ? undefined : HEALTH_NOTE}>
        {isNew && paste}
        {!isEmpty && (
          <Card className="divide-y divide-line overflow-hidden">
            {fields.map(({ id }, index) => (
              <EndpointRow
                key={id}
                index={index}
                merchant={merchant}
                isOpenAtFirst={index >= present || (isNew && index === 0)}
                onRemove={() => remove(index)}
              />
            ))}
          </Card>
        )}
        {!isNew && paste}
      </Section>
      {!(isNew && isEmpty) && (
        <>
          <SellerFields isNew={isNew} wallet={address} />
          <div className="flex flex-wrap items-center gap-4">
            <Button type="submit" variant="primary">
              Check and sign
            </Button>
            <p className="text-xs text-muted">Nothing is sent yet. This device keeps your draft.</p>
          </div>
          {hasProblems && (
            <p role="alert" className="text-sm text-bad">
              {noEndpoints ?? 'See the fields marked above.'}
            </p>
          )}
        </>
      )}
    </form>
  )
}

/** Edits what a listing says of its seller. */
function SellerFields({ isNew, wallet }: { isNew: boolean; wallet: string | undefined }) {
  const { setValue, getValues } = useFormContext<FormValues>()
  const [name, payTo] = useWatch<FormValues, readonly ['name', 'payTo']>({
    name: ['name', 'payTo'],
  })
  return (
    <Section title="Seller">
      <Card className="grid gap-4 p-4 sm:grid-cols-2 sm:p-5">
        <FormText
          label="Name"
          name="name"
          maxLength={60}
          onTyped={(text, before) => {
            const follows = isNew && getValues('id') === idFromName(before)
            if (follows) setValue('id', idFromName(text))
          }}
        />
        <FormText
          label="Id"
          name="id"
          hint={
            isNew
              ? 'Part of the address of your page. You cannot change it later.'
              : 'An id never changes.'
          }
          disabled={!isNew || name === ''}
          isCode
          maxLength={50}
        />
        <FormText
          place="sm:col-span-2"
          label="Payout address"
          name="payTo"
          hint="Every API must ask to be paid here."
          aside={
            wallet !== undefined &&
            !sameAddress(wallet, payTo) && (
              <button
                type="button"
                onClick={() => setValue('payTo', wallet)}
                className="text-xs text-accent hover:underline"
              >
                Use my wallet
              </button>
            )
          }
          placeholder="0x…"
          isCode
          maxLength={60}
        />
        <FormArea place="sm:col-span-2" label="Description" name="description" rows={2} />
      </Card>
    </Section>
  )
}
