import type { MerchantEndpoint, MerchantView, ProbeAnswer } from '@arcus/protocol/answers/listings'
import { callMethods, parametersIn, targetKey, uncalledMethods } from '@arcus/protocol/x402/calls'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useFormContext, useFormState, useWatch } from 'react-hook-form'
import { sendJson } from '../../../api/http.js'
import { merchantQuery, settingsQuery } from '../../../api/queries.js'
import { HealthDot, MethodChip } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { Failure, Note } from '../../../components/card.js'
import { Field } from '../../../components/field.js'
import { AskedPrice } from '../../../components/figures.js'
import { Icon } from '../../../components/icons.js'
import { Moment } from '../../../components/moment.js'
import { Select } from '../../../components/select.js'
import { UntrustedText, UrlText } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { oneLine } from '../../../format/untrusted-text.js'
import { verdictName, warningLevel } from '../../../format/verdicts.js'
import { FormArea, FormText } from './fields.js'
import {
  differsInPrice,
  type EndpointValues,
  type FormValues,
  type FoundTerms,
  fillEndpoint,
  foundAtLast,
  listedTokens,
  notesOf,
  tokenOf,
} from './form.js'
import { PaidCheck } from './paid-check.js'
import { isLive, readQuote } from './quote.js'

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

/** Checks an API again: the directory's own check for one that is listed, and for another one a call that fills the form. */
function useCheck(
  values: EndpointValues,
  merchant: MerchantView | undefined,
  listed: MerchantEndpoint | undefined,
  onFilled: (values: EndpointValues) => void,
) {
  const client = useQueryClient()
  return useMutation({
    async mutationFn() {
      if (merchant === undefined || listed === undefined) {
        const quote = await readQuote(values.url, values)
        if (isLive(quote)) onFilled(fillEndpoint(values, quote))
        return quote
      }
      const path = `/api/merchants/${encodeURIComponent(merchant.id)}/probe`
      const { endpoints } = await sendJson<ProbeAnswer>('POST', path, {
        endpointId: listed.state.id,
      })
      await client.invalidateQueries({ queryKey: merchantQuery(merchant.id).queryKey })
      const [{ state, probe } = {}] = endpoints
      if (state !== 'probed') throw new Error('It was checked a moment ago. Try again in a minute.')
      return probe
    },
  })
}

/** Shows the health of a listed API, its price and when it was paid last. A new one has a price alone. */
function Standing({
  values,
  listed,
}: {
  values: EndpointValues
  listed: MerchantEndpoint | undefined
}) {
  const { symbol } = tokenOf(values, listedTokens(useQuery(settingsQuery).data))
  if (listed === undefined) {
    return (
      <span className="text-sm tabular">
        {values.found === null && values.price && `${values.price} ${symbol}`}
      </span>
    )
  }
  const { state } = listed
  return (
    <span className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
      <HealthDot api={{ ...state, price: listed.price }} />
      <span className="font-medium">
        <AskedPrice {...listed} symbol={state.symbol} livePrice={state.livePrice} />
      </span>
      <span className="text-xs text-faint">
        {state.usage == null ? (
          'not paid yet'
        ) : (
          <>
            paid <Moment at={state.usage.lastPaid * 1_000} />
          </>
        )}
      </span>
    </span>
  )
}

/** Says how a check ended, or how the last check of a listed API did if that failed. */
function CheckResult({
  check,
  listed,
}: {
  check: ReturnType<typeof useCheck>
  listed: MerchantEndpoint | undefined
}) {
  if (check.isPending) return null
  const last = check.data ?? listed?.state.probe
  return (
    <>
      <Failure title="It could not be checked" of={check.error} />
      {last != null && last.verdict !== 'live' && (
        <Note level={last.verdict === 'not_called' ? 'info' : 'bad'}>
          {verdictName(last.verdict)}. <UntrustedText text={last.message} max={600} /> Checked{' '}
          <Moment at={last.checkedAt * 1_000} />.
        </Note>
      )}
      {check.data?.verdict === 'live' && !check.data.warnings.some(isProblem) && (
        <Note level="ok">It works.</Note>
      )}
    </>
  )
}

const isProblem = (code: string) => warningLevel(code) === 'bad'

/** Shows what the 402 says, which is not to be typed: another price than that of the API is always a mistake. */
function Facts({
  values,
  found,
  onChange,
}: {
  values: EndpointValues
  found: FoundTerms
  onChange: () => void
}) {
  const { symbol } = tokenOf(values, listedTokens(useQuery(settingsQuery).data))
  return (
    <dl className="flex flex-wrap items-center gap-x-8 gap-y-2 rounded-lg bg-sunken px-3 py-2 text-sm sm:col-span-6">
      <Fact name={values.pricing === 'metered' ? 'Metered, at most' : 'Fixed price'}>
        {values.price} {symbol}
      </Fact>
      <Fact name="Read from your API">
        <Moment at={found.checkedAt * 1_000} />
      </Fact>
      <Button size="sm" variant="quiet" onClick={onChange} className="ml-auto">
        Change
      </Button>
    </dl>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  )
}

interface FieldsProps {
  path: `endpoints.${number}`
  values: EndpointValues
}

/** Edits what the 402 mostly says: address, price, token and pricing. */
function HandFields({ path, values }: FieldsProps) {
  const { setValue } = useFormContext<FormValues>()
  const tokens = listedTokens(useQuery(settingsQuery).data)
  const token = tokenOf(values, tokens)
  // With another address it is another API, about which nothing is known.
  const forget = () => setValue(`${path}.found`, null)
  return (
    <>
      <FormText
        place="sm:col-span-4"
        label="URL"
        name={`${path}.url`}
        isCode
        maxLength={2_048}
        onTyped={forget}
      />
      <Field place="sm:col-span-2" label="Method">
        {(field) => (
          <Select
            {...field}
            value={values.method}
            options={callMethods.map((it) => [it, it === 'MCP' ? 'MCP tool' : it] as const)}
            onChange={(method) => {
              setValue(`${path}.method`, method)
              forget()
            }}
          />
        )}
      </Field>
      {values.method === 'MCP' && (
        <FormText
          place="sm:col-span-6"
          label="Name of the tool"
          hint="As the MCP server at the URL lists it. Each tool is an API of its own."
          name={`${path}.toolName`}
          isCode
          maxLength={128}
          onTyped={forget}
        />
      )}
      <FormText
        place="sm:col-span-3"
        label={`Price in ${token.symbol}`}
        hint={values.pricing === 'metered' ? 'The highest price of a call.' : undefined}
        name={`${path}.price`}
        inputMode="decimal"
        placeholder="0.01"
        maxLength={20}
        beside={
          tokens.length > 1 && (
            <span className="w-24">
              <Select
                aria-label="Token"
                value={token.address}
                options={tokens.map(({ address, symbol }) => [address, symbol] as const)}
                onChange={(address) => setValue(`${path}.asset`, address)}
              />
            </span>
          )
        }
      />
      <Field place="sm:col-span-3" label="Pricing">
        {(field) => (
          <Select
            {...field}
            value={values.pricing}
            options={[
              ['fixed', 'Fixed'],
              ['metered', 'Metered, up to the price'],
            ]}
            onChange={(pricing) => setValue(`${path}.pricing`, pricing)}
          />
        )}
      </Field>
    </>
  )
}

const parameters = {
  queryParams: 'Example parameters (JSON)',
  body: 'Example body (JSON)',
  arguments: 'Example arguments (JSON)',
}

/** Edits what the owner says of an API. */
function TextFields({
  path,
  values,
  isByHand,
  children,
}: FieldsProps & { isByHand: boolean; children: ReactNode }) {
  const [, index] = path.split('.')
  const { errors } = useFormState<FormValues>()
  const wrong = errors.endpoints?.[Number(index)]
  const [isOpened, setIsOpened] = useState(isByHand)
  const { method } = values
  return (
    <>
      <FormText place="sm:col-span-4" label="Title" name={`${path}.title`} maxLength={100} />
      <FormText
        place="sm:col-span-2"
        label="Tags"
        placeholder="weather, europe"
        name={`${path}.tags`}
        maxLength={400}
      />
      <FormArea place="sm:col-span-6" label="Description" rows={2} name={`${path}.description`} />
      <div className="relative sm:col-span-6">
        <details
          open={isOpened || wrong?.example !== undefined || wrong?.inputSchema !== undefined}
          onToggle={({ currentTarget }) => setIsOpened(currentTarget.open)}
        >
          <summary className="w-fit text-sm font-medium text-muted hover:text-ink">
            Example call and input schema
          </summary>
          <div className="mt-3 grid gap-4 sm:grid-cols-2">
            <FormArea
              label={parameters[parametersIn(method)]}
              hint={
                uncalledMethods.includes(method)
                  ? `Arcus never calls ${method}, so this API stays unverified.`
                  : 'Arcus calls your API with these, without paying.'
              }
              rows={5}
              isCode
              name={`${path}.example`}
            />
            <FormArea
              label="Input schema (JSON Schema)"
              hint="Agents need it to call your API."
              rows={5}
              isCode
              name={`${path}.inputSchema`}
            />
          </div>
        </details>
        <span className="absolute -top-1.5 right-0">{children}</span>
      </div>
    </>
  )
}
