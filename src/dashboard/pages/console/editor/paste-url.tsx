import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '../../../components/button.js'
import { Select } from '../../../components/choices.js'
import { TextField } from '../../../components/field.js'
import { Notice } from '../../../components/notice.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { safeHref } from '../../../format/untrusted-text.js'
import { verdictName } from '../../../format/verdicts.js'
import type { Method } from './draft.js'
import { methodOptions } from './endpoint-fields.js'
import { type Quote, readQuote } from './quote.js'

interface PasteUrlProps {
  isFirst: boolean
  onFound: (quote: Quote) => void
  onByHand: (url: string, method: Method) => void
}

/** Takes a URL and reads its live 402, or says why it cannot be listed. */
export function PasteUrl({ isFirst, onFound, onByHand }: PasteUrlProps) {
  const [url, setUrl] = useState('')
  const [method, setMethod] = useState<Method | ''>('')
  const probe = useMutation({
    mutationFn: (address: string) =>
      readQuote(withScheme(address), method === '' ? {} : { method }),
    onSuccess: (quote) => {
      if (quote.listing === null) return
      onFound(quote)
      setUrl('')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (url.trim() !== '') probe.mutate(url)
  }
  const follow = (address: string) => {
    setUrl(address)
    probe.mutate(address)
  }
  const refused = probe.data?.listing === null ? probe.data : undefined
  const leadsTo =
    refused?.verdict === 'redirect' ? safeHref(String(refused.seen.location)) : undefined
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        label={isFirst ? 'URL of your paid endpoint' : 'URL of another endpoint'}
        hint="Arcus calls it once, without payment, and reads the 402."
        inputMode="url"
        value={url}
        onChange={(text) => {
          setUrl(text)
          probe.reset()
        }}
        placeholder="https://api.example.com/quote"
        isCode
        maxLength={2_048}
        className="!min-w-48"
        beside={
          <>
            <Select
              aria-label="Method"
              value={method}
              options={[['', 'Any method'], ...methodOptions]}
              onChange={setMethod}
              className="!w-32 shrink-0"
            />
            <Button
              type="submit"
              variant="primary"
              isBusy={probe.isPending}
              disabled={url.trim() === ''}
              className="max-sm:flex-1"
            >
              Check endpoint
            </Button>
          </>
        }
      />
      {probe.isPending && (
        <p role="status" className="text-sm text-muted">
          Arcus calls it now. A slow server may take five seconds.
        </p>
      )}
      {probe.error !== null && (
        <Notice tone="bad" title="It could not be checked">
          {probe.error.message}
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
              ? 'You can list it all the same. Until it answers it is unverified and outside the default order of the directory.'
              : 'It cannot be saved like this. Correct it and check again.'}
          </p>
        </Notice>
      )}
    </form>
  )
}

const THIS_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i

/** Adds the scheme that people leave out: http for this machine, https for all others. */
function withScheme(text: string): string {
  const url = text.trim()
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url
  return `${THIS_MACHINE.test(url) ? 'http' : 'https'}://${url}`
}
