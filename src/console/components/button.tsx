import {
  type ButtonHTMLAttributes,
  type ComponentProps,
  type ReactNode,
  useEffect,
  useId,
  useState,
} from 'react'
import { Link } from 'wouter'
import { Icon } from './icons.js'

const shape =
  'inline-flex items-center justify-center gap-2 rounded-lg font-medium whitespace-nowrap transition-colors disabled:opacity-50 disabled:cursor-not-allowed aria-disabled:opacity-50 aria-disabled:cursor-not-allowed aria-busy:cursor-progress'

const sizes = { md: 'h-10 px-4 text-sm', sm: 'h-8 px-3 text-xs' }

const variants = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  secondary: 'border border-line-strong bg-raised text-ink hover:bg-sunken',
  quiet: 'text-muted hover:bg-sunken hover:text-ink',
  danger: 'border border-line-strong bg-raised text-bad hover:bg-bad-soft',
}

interface Style {
  variant?: keyof typeof variants
  size?: keyof typeof sizes
}

/**
 * A button that keeps the focus while it cannot act: while it is busy, or for the reason `why`. It says the reason where
 * somebody points at it or focuses it, and beside itself where they press it.
 */
export function Button({
  variant = 'secondary',
  size = 'md',
  isBusy = false,
  className = '',
  children,
  disabled,
  why,
  onClick,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> &
  Style & { isBusy?: boolean; why?: string | undefined }) {
  const id = useId()
  const isHeld = isBusy || why !== undefined
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled}
      aria-disabled={isHeld || undefined}
      aria-busy={isBusy}
      {...(why !== undefined && { 'aria-describedby': id, title: why, popoverTarget: id })}
      onClick={isHeld ? (event) => isBusy && event.preventDefault() : onClick}
      className={`${shape} ${sizes[size]} ${variants[variant]} ${className}`}
    >
      {isBusy && <Spinner />}
      {children}
      {why !== undefined && (
        <span id={id} popover="auto" className="hint text-left">
          {why}
        </span>
      )}
    </button>
  )
}

export function ButtonLink({
  href,
  variant = 'secondary',
  size = 'md',
  className = '',
  children,
}: Style & { href: string; className?: string; children: ReactNode }) {
  return (
    <Link href={href} className={`${shape} ${sizes[size]} ${variants[variant]} ${className}`}>
      {children}
    </Link>
  )
}

/** A button that shows only an icon. */
export function IconButton({
  label,
  icon,
  iconSize = 16,
  ...rest
}: Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children' | 'className'> & {
  label: string
  icon: ComponentProps<typeof Icon>['name']
  iconSize?: number
}) {
  return (
    <button
      type="button"
      aria-label={label}
      {...rest}
      className="inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
    >
      <Icon name={icon} size={iconSize} />
    </button>
  )
}

/** The look of a link that is not the main thing of its line. */
export const quietLink = 'underline decoration-line-strong underline-offset-4 hover:text-accent'

/** A link within a sentence. */
export function TextLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="font-medium text-accent underline underline-offset-4">
      {children}
    </Link>
  )
}

export function Spinner() {
  return (
    <svg className="size-3.5 animate-spin" viewBox="0 0 16 16" fill="none" aria-hidden="true">
      <circle cx="8" cy="8" r="6.5" stroke="currentColor" strokeWidth="2" opacity=".25" />
      <path d="M8 1.5A6.5 6.5 0 0 1 14.5 8" stroke="currentColor" strokeWidth="2" />
    </svg>
  )
}

const SHOWN_MS = 1_600

/** Returns whether the browser allowed it. The clipboard is missing where the page is not served securely. */
export async function copyText(text: string): Promise<boolean> {
  const copied = navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  return (await copied) ?? false
}

const copyLooks = {
  idle: { icon: 'copy', tone: 'text-faint hover:text-ink', said: '' },
  copied: { icon: 'check', tone: 'text-ok', said: 'Copied' },
  refused: { icon: 'cross', tone: 'text-bad', said: 'The browser did not allow copying' },
} as const

/** Copies `text`. The label of the button is `Copy` and the name. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [state, setState] = useState<keyof typeof copyLooks>('idle')
  const { icon, tone, said } = copyLooks[state]
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () => {
    void copyText(text).then((isCopied) => setState(isCopied ? 'copied' : 'refused'))
  }
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={`Copy ${name}`}
      title={state === 'refused' ? said : `Copy ${name}`}
      className={`inline-flex size-6 shrink-0 items-center justify-center rounded-md hover:bg-sunken ${tone}`}
    >
      <Icon name={icon} size={13} />
      <span role="status" className="sr-only">
        {said}
      </span>
    </button>
  )
}
