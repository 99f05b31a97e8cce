import type { ListingClient } from '@arcus/client/listing-client'
import type { UseMutationResult } from '@tanstack/react-query'
import { type ComponentProps, type FormEvent, type ReactNode, useState } from 'react'
import { Button } from '../../components/button.js'
import { TextField } from '../../components/field.js'
import { useWrite, WriteOutcome } from '../../wallet/signing.js'

/** A form of one line, whose text a wallet signs. Without spaces around it the text goes to `write`. */
export function SignedLine({
  write,
  label,
  action,
  check,
  initial = '',
  isDanger = false,
  done,
  children,
  ...input
}: {
  // biome-ignore lint/suspicious/noExplicitAny: the answer of the write is of no concern here
  write: UseMutationResult<any, Error, any>
  label: string
  /** The name of the button. */
  action: string
  /** Returns what is wrong with the text; nothing if it may be signed. */
  check: (text: string) => string | undefined
  initial?: string
  isDanger?: boolean
  done?: string
  /** Further buttons. */
  children?: ReactNode
  placeholder?: string
  inputMode?: 'numeric'
  maxLength?: number
}) {
  const [text, setText] = useState(initial)
  const [problem, setProblem] = useState<string>()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const found = check(text.trim())
    setProblem(found)
    if (found === undefined) write.mutate(text.trim())
    else event.currentTarget.querySelector('input')?.focus()
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3">
      <TextField
        {...input}
        value={text}
        onChange={setText}
        label={label}
        error={problem}
        isCode
        beside={
          <>
            <Button
              type="submit"
              variant={isDanger ? 'danger' : 'secondary'}
              isBusy={write.isPending}
            >
              {action}
            </Button>
            {children}
          </>
        }
      />
      <WriteOutcome write={write} {...(done !== undefined && { done })} />
    </form>
  )
}

/** A button whose press a wallet signs. `done` is said in the one place of all pages. */
export function SignedButton({
  id,
  act,
  done,
  children,
  ...look
}: {
  /** Of the listing. */
  id: string
  act: (client: ListingClient) => Promise<{ id: string }>
  done: string
  children: ReactNode
} & Pick<ComponentProps<typeof Button>, 'variant' | 'size'>) {
  const write = useWrite(id, (client, _: null) => act(client), done)
  return (
    <>
      <Button {...look} isBusy={write.isPending} onClick={() => write.mutate(null)}>
        {children}
      </Button>
      <div className="w-full empty:hidden">
        <WriteOutcome write={write} />
      </div>
    </>
  )
}
