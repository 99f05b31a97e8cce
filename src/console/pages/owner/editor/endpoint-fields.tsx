import { callMethods, parametersIn, uncalledMethods } from '@arcus/protocol/x402/calls'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useFormContext, useFormState } from 'react-hook-form'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Field } from '../../../components/field.js'
import { Moment } from '../../../components/moment.js'
import { Select } from '../../../components/select.js'
import { FormArea, FormText } from './fields.js'
import {
  type EndpointValues,
  type FormValues,
  type FoundTerms,
  listedTokens,
  tokenOf,
} from './form.js'

/** Shows what the 402 says, which is not to be typed: another price than that of the API is always a mistake. */
export function Facts({
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
export function HandFields({ path, values }: FieldsProps) {
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
export function TextFields({
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
