import { useMutation } from '@tanstack/react-query'
import { type ChangeEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../../components/button.js'
import { Failure, Notice } from '../../../components/card.js'
import { Field, inputStyle, TextField } from '../../../components/field.js'
import { EndpointLine, UntrustedText } from '../../../components/untrusted-text.js'
import type { EndpointDraft } from './draft.js'
import { checkAll, type Outcome, type Progress } from './import-queue.js'
import { type Operation, parseFile, type ReadOpenApi, readOpenApi } from './read-openapi.js'
import { words as all } from './words.js'

const words = all.import

export interface Imported {
  name: string
  description: string
  payTo: string
  endpoints: EndpointDraft[]
}

/**
 * Imports endpoints from an OpenAPI file. Arcus calls each once, and its live 402 overrides the file. A large file takes
 * minutes, so it shows how far it is, and can be stopped.
 */
export function ImportOpenApi({ onImport }: { onImport: (imported: Imported) => void }) {
  const [base, setBase] = useState('')
  const [file, setFile] = useState<File>()
  const [chosen, setChosen] = useState<ReadonlySet<Operation>>(new Set())
  const read = useMutation({
    mutationFn: async ({ from, at }: { from: File; at: string }) =>
      readOpenApi(await parseFile(from), at),
    onSuccess: ({ operations }) => setChosen(new Set(operations)),
  })
  const [progress, setProgress] = useState<Progress>()
  const stop = useRef<AbortController>(undefined)
  const add = useMutation({
    mutationFn: ({ operations }: ReadOpenApi) => {
      stop.current = new AbortController()
      const { signal } = stop.current
      const wanted = operations.filter((operation) => chosen.has(operation))
      return checkAll(wanted, { signal, onProgress: setProgress })
    },
    onSuccess: ({ endpoints, payTo }, { name, description }) => {
      if (endpoints.length > 0) onImport({ name, description, payTo, endpoints })
    },
  })
  useEffect(() => () => stop.current?.abort(), [])
  const open = (from: File | undefined, at: string) => {
    stop.current?.abort()
    add.reset()
    if (from !== undefined) read.mutate({ from, at: withSlash(at) })
  }

  return (
    <div className="space-y-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={words.file} hint={words.fileNote}>
          {(field) => (
            <input
              {...field}
              type="file"
              accept=".json,.yaml,.yml,application/json,application/yaml"
              onChange={({ target }: ChangeEvent<HTMLInputElement>) => {
                setFile(target.files?.[0])
                open(target.files?.[0], base)
              }}
              className={`${inputStyle} py-1.5 file:mr-3 file:rounded-md file:bg-sunken file:px-2 file:py-0.5 file:text-xs file:font-medium`}
            />
          )}
        </Field>
        <TextField
          label={words.server}
          hint={words.serverNote}
          value={base}
          onChange={setBase}
          onBlur={() => base !== '' && open(file, base)}
          placeholder={words.serverExample}
          isCode
        />
      </div>
      <Failure title={words.notRead} of={read.error} />
      {read.data !== undefined && add.data === undefined && (
        <>
          <Operations found={read.data} chosen={chosen} onChoose={setChosen} />
          <div className="flex flex-wrap items-center gap-3">
            <Button
              variant="primary"
              isBusy={add.isPending}
              why={chosen.size === 0 ? words.chooseFirst : undefined}
              onClick={() => add.mutate(read.data)}
            >
              {words.check(chosen.size)}
            </Button>
            {add.isPending && <Checking progress={progress} onStop={() => stop.current?.abort()} />}
          </div>
        </>
      )}
      {add.data !== undefined && <Result {...add.data} />}
    </div>
  )
}

/** Says how far the checks are, and stops them. */
function Checking({ progress, onStop }: { progress: Progress | undefined; onStop: () => void }) {
  return (
    <>
      {progress !== undefined && (
        <>
          <Button onClick={onStop}>{words.stop}</Button>
          <progress
            aria-label={words.progress}
            value={progress.done}
            max={progress.total}
            className="h-2 w-32 accent-accent"
          />
          <p className="text-sm text-muted tabular">
            {(progress.isWaiting ? words.waiting : words.checked)(progress.done, progress.total)}
          </p>
        </>
      )}
      <p role="status" className="text-sm text-muted">
        {words.calls}
      </p>
    </>
  )
}

function Result({ endpoints, refused, left }: Outcome) {
  const isWhole = refused.length === 0 && left === 0
  return (
    <Notice
      tone={isWhole ? 'ok' : 'warn'}
      title={words.result({ added: endpoints.length, leftOut: refused.length, left })}
    >
      {endpoints.some(({ price }) => price === '') && <p>{words.enterPrices}</p>}
      {refused.map(({ operation: { method, url }, why }) => (
        <p key={method + url}>
          <UntrustedText text={`${method} ${url}`} max={120} />:{' '}
          <UntrustedText text={why} max={300} />
        </p>
      ))}
    </Notice>
  )
}

/** Adds the slash without which the last part of the path would be lost. */
function withSlash(base: string): string {
  return base === '' || base.endsWith('/') ? base : `${base}/`
}

/** Lists the operations of a file to choose from, and those that cannot be listed. */
export function Operations({
  found: { operations, skipped },
  chosen,
  onChoose,
}: {
  found: ReadOpenApi
  chosen: ReadonlySet<Operation>
  onChoose: (chosen: ReadonlySet<Operation>) => void
}) {
  const toggle = (operation: Operation) => {
    const next = new Set(chosen)
    if (!next.delete(operation)) next.add(operation)
    onChoose(next)
  }
  return (
    <div className="space-y-3">
      <fieldset className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line">
        <legend className="sr-only">{words.operations}</legend>
        {operations.map((operation) => (
          <label
            key={operation.method + operation.url}
            className="flex cursor-pointer items-start gap-3 px-3 py-2.5 text-sm hover:bg-sunken/60"
          >
            <input
              type="checkbox"
              checked={chosen.has(operation)}
              onChange={() => toggle(operation)}
              className="mt-1 accent-accent"
            />
            <span className="min-w-0">
              <span className="block font-medium">
                <UntrustedText text={operation.title} />
              </span>
              <EndpointLine method={operation.method} url={operation.url} />
            </span>
          </label>
        ))}
        {operations.length === 0 && <p className="px-3 py-4 text-sm text-muted">{words.none}</p>}
      </fieldset>
      {skipped.length > 0 && (
        <details className="text-sm text-muted">
          <summary className="w-fit hover:text-ink">{words.skipped(skipped.length)}</summary>
          <ul className="mt-2 space-y-1 text-xs">
            {skipped.map(({ what, why }) => (
              <li key={what}>
                <UntrustedText text={what} max={100} />: {why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
