import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Method } from '../../../api/types.js'
import { Button } from '../../../components/button.js'
import { Field, inputLook } from '../../../components/field.js'
import { Notice } from '../../../components/notice.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { safeHref } from '../../../format/untrusted-text.js'
import { verdictName } from '../../../format/verdicts.js'
import { lookUpQuote, type Quote } from './quote.js'

interface PasteUrlProps {
  isFirst: boolean
  onFound: (quote: Quote) => void
  onByHand: (url: string, method: Method) => void
}

/** A URL goes in; what its live 402 says comes out, or why it cannot be listed as it is. */
export function PasteUrl({ isFirst, onFound, onByHand }: PasteUrlProps) {
  const [url, setUrl] = useState('')
  const [method, setMethod] = useState<Method | ''>('')
  const look = useMutation({
    mutationFn: (address: string) =>
      lookUpQuote(withScheme(address), method === '' ? {} : { method }),
    onSuccess: (quote) => {
      if (quote.listing === null) return
      onFound(quote)
      setUrl('')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (url.trim() !== '') look.mutate(url)
  }
  const follow = (address: string) => {
    setUrl(address)
    look.mutate(address)
  }
  const refused = look.data?.listing === null ? look.data : undefined
  const leadsTo =
    refused?.verdict === 'redirect' ? safeHref(String(refused.seen.location)) : undefined
  return (
    <form onSubmit={submit} className="space-y-3">
      <Field
        label={isFirst ? 'URL of your paid endpoint' : 'URL of another endpoint'}
        hint="Arcus calls it once, without payment, and reads the 402."
      >
        {(field) => (
          <div className="flex flex-wrap gap-2 sm:flex-nowrap">
            <input
              {...field}
              type="text"
              inputMode="url"
              value={url}
              onChange={(event) => {
                setUrl(event.target.value)
                look.reset()
              }}
              placeholder="https://api.example.com/quote"
              spellCheck={false}
              autoComplete="off"
              maxLength={2_048}
              className={`${inputLook} min-w-48 flex-1 font-mono`}
            />
            <select
              aria-label="Method"
              value={method}
              onChange={(event) => setMethod(event.target.value as Method | '')}
              className={`${inputLook} !w-32 shrink-0`}
            >
              <option value="">Any method</option>
              <option value="GET">GET</option>
              <option value="POST">POST</option>
            </select>
            <Button
              type="submit"
              look="primary"
              isBusy={look.isPending}
              disabled={url.trim() === ''}
              className="max-sm:flex-1"
            >
              Check endpoint
            </Button>
          </div>
        )}
      </Field>
      {look.isPending && (
        <p role="status" className="text-sm text-muted">
          Calling it now; a slow server may take five seconds.
        </p>
      )}
      {look.error !== null && (
        <Notice tone="bad" title="It could not be checked">
          {look.error.message}
        </Notice>
      )}
      {refused !== undefined && (
        <Notice
          tone="warn"
          title={verdictName(refused.verdict)}
          action={
            leadsTo === undefined ? (
              <Button size="sm" onClick={() => onByHand(withScheme(url), refused.method)}>
                Fill in by hand
              </Button>
            ) : (
              <Button size="sm" onClick={() => follow(leadsTo)}>
                Check that address
              </Button>
            )
          }
        >
          <UntrustedText text={refused.message} max={600} />
          <p className="mt-1">
            {refused.verdict === 'unreachable'
              ? 'It may be listed all the same: it is unverified, and outside the default order of the directory, until it answers.'
              : 'It cannot be saved like this. Mend it and check again.'}
          </p>
        </Notice>
      )}
    </form>
  )
}

const THIS_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i

/** People paste hosts without a scheme; only this machine speaks http. */
function withScheme(text: string): string {
  const url = text.trim()
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url
  return `${THIS_MACHINE.test(url) ? 'http' : 'https'}://${url}`
}
