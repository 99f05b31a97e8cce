import type { MerchantView } from '@arcus/protocol/answers/listings'
import { targetKey } from '@arcus/protocol/x402/calls'
import { useState } from 'react'
import { useFormContext, useFormState, useWatch } from 'react-hook-form'
import { MethodChip } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { Note } from '../../../components/card.js'
import { Icon } from '../../../components/icons.js'
import { UrlText } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { oneLine } from '../../../format/untrusted-text.js'
import { CheckResult, Standing, useCheck } from './endpoint-check.js'
import { Facts, HandFields, TextFields } from './endpoint-fields.js'
import { differsInPrice, type FormValues, foundAtLast, notesOf } from './form.js'
import { PaidCheck } from './paid-check.js'

interface EndpointRowProps {
  index: number
  /** The present listing, if there is one. */
  merchant: MerchantView | undefined
  isOpenAtFirst: boolean
  onRemove: () => void
}

/** Shows one API with its health, its price and its last payment. It opens into its fields. */
export function EndpointRow({ index, merchant, isOpenAtFirst, onRemove }: EndpointRowProps) {
  const path = `endpoints.${index}` as const
  const form = useFormContext<FormValues>()
  const values = useWatch<FormValues, typeof path>({ name: path })
  const payTo = useWatch<FormValues, 'payTo'>({ name: 'payTo' })
  const { errors } = useFormState<FormValues>()
  const wrong = errors.endpoints?.[index]
  const [isOpened, setIsOpened] = useState(isOpenAtFirst)
  const [isByHand, setIsByHand] = useState(false)
  const isWrong = wrong?.url ?? wrong?.toolName ?? wrong?.price
  const listed = merchant?.endpoints.find((it) => targetKey(it) === targetKey(values))
  const found = merchant && listed ? foundAtLast(listed, merchant) : values.found
  const check = useCheck(values, merchant, listed, (filled) => form.setValue(path, filled))
  const isOpen = isOpened || wrong !== undefined
  const name = oneLine(values.title || values.url, 60) || 'New API'
  const takeOver = () => {
    if (found === null) return
    form.setValue(`${path}.price`, atomicToUsd(found.price))
    form.setValue(`${path}.asset`, found.asset)
  }
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">{name}</legend>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 sm:px-5">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpened(!isOpen)}
          className="flex min-w-0 flex-1 basis-64 items-center gap-3 py-1 text-left"
        >
          <span className={`text-faint transition-transform ${isOpen ? 'rotate-90' : ''}`}>
            <Icon name="right" size={14} />
          </span>
          <span className="min-w-0">
            <span className="block truncate text-sm font-medium">
              <bdi>{name}</bdi>
            </span>
            <span className="flex min-w-0 items-center gap-2">
              <MethodChip method={values.method} />
              <span className="min-w-0 truncate">
                <UrlText url={values.url} />
              </span>
            </span>
          </span>
        </button>
        <Standing values={values} listed={listed} />
        <Button
          size="sm"
          isBusy={check.isPending}
          onClick={() => check.mutate()}
          aria-label={`Check ${name}`}
        >
          <Icon name="again" size={13} />
          Check
        </Button>
      </div>
      <div aria-live="polite" className="space-y-2 px-4 pb-3 empty:hidden sm:px-5">
        <CheckResult check={check} listed={listed} />
        {merchant && listed && <PaidCheck merchant={merchant} listed={listed} name={name} />}
        {notesOf(values, found, payTo).map(
          ({ level, text }) =>
            // Minor findings stay closed until somebody opens them.
            (isOpen || level !== 'info') && (
              <Note key={text} level={level}>
                {text}
              </Note>
            ),
        )}
        {differsInPrice(values, found) && found !== null && (
          <Button size="sm" onClick={takeOver}>
            List it at {exactAmount(atomicToUsd(found.price), found.symbol)}
          </Button>
        )}
      </div>
      {isOpen && (
        <div className="grid gap-4 px-4 pb-5 sm:grid-cols-6 sm:px-5">
          {found === null || isByHand || isWrong !== undefined ? (
            <HandFields path={path} values={values} />
          ) : (
            <Facts values={values} found={found} onChange={() => setIsByHand(true)} />
          )}
          <TextFields path={path} values={values} isByHand={found === null}>
            <Button size="sm" variant="quiet" onClick={onRemove} aria-label={`Remove ${name}`}>
              Remove
            </Button>
          </TextFields>
        </div>
      )}
    </fieldset>
  )
}
