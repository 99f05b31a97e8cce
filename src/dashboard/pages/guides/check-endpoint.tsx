import { useMutation } from '@tanstack/react-query'
import { withQuery } from 'arcus-client/calls'
import { type FormEvent, useState } from 'react'
import type { ListingStatus } from '../../../api/discovery.js'
import { requestJson } from '../../api/http.js'
import { Button } from '../../components/button.js'
import { Failure, Notice } from '../../components/card.js'
import { TextField } from '../../components/field.js'
import { Fact, Price } from '../../components/figures.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { verdictName, warningText } from '../../format/verdicts.js'
import { type Quote, readQuote } from '../console/editor/quote.js'
import { words as texts } from './words.js'

const words = texts.check

interface Checked {
  quote: Quote
  listed: ListingStatus
}

async function check(url: string): Promise<Checked> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new Error(words.noUrl)
  const quote = await readQuote(url, {})
  const path = withQuery('/discovery/status', { resource: url })
  return { quote, listed: await requestJson<ListingStatus>(path) }
}

/** Calls an endpoint without payment and shows what it tells a buyer. It needs no wallet. */
export function CheckEndpoint() {
  const [url, setUrl] = useState('')
  const checking = useMutation({ mutationFn: check })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (url.trim() !== '') checking.mutate(url.trim())
  }
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        label={words.url}
        inputMode="url"
        value={url}
        onChange={(text) => {
          setUrl(text)
          checking.reset()
        }}
        placeholder={words.placeholder}
        isCode
        maxLength={2_048}
        beside={
          <Button type="submit" variant="primary" isBusy={checking.isPending}>
            {words.submit}
          </Button>
        }
      />
      <div aria-live="polite" className="space-y-3">
        {checking.isPending && <p className="text-sm">{words.pending}</p>}
        <Failure title={words.failed} of={checking.error} />
        {checking.data !== undefined && <Result {...checking.data} />}
      </div>
    </form>
  )
}

function Result({ quote, listed }: Checked) {
  const { verdict, message, warnings, listing } = quote
  const isRight = verdict === 'live' && warnings.length === 0
  const title = verdict !== 'live' ? verdictName(verdict) : isRight ? words.right : words.works
  return (
    <>
      <Notice tone={isRight ? 'ok' : 'warn'} title={title}>
        {verdict !== 'live' && <UntrustedText text={message} max={600} />}
        {warnings.map((code) => (
          <p key={code}>{warningText(code)}</p>
        ))}
      </Notice>
      {listing !== null && (
        <dl className="grid gap-x-8 gap-y-3 rounded-xl border border-line px-4 py-3 sm:grid-cols-3">
          <Fact name={words.price}>
            <Price {...listing} />
          </Fact>
          <Fact name={words.payTo}>
            <Hex hex={listing.payTo} kind="address" network={listing.network} />
          </Fact>
          <Fact name={words.network}>{listing.network}</Fact>
        </dl>
      )}
      <p className="text-sm">
        <strong>{words.listed}</strong> <UntrustedText text={listed.message} max={600} />
        {listed.entries.map(({ merchant, url, toolName, mend }) =>
          mend === null ? null : (
            <span key={`${merchant} ${url} ${toolName}`} className="block">
              <UntrustedText text={mend} max={600} />
            </span>
          ),
        )}
      </p>
    </>
  )
}
