import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { ConsoleNetwork, ConsoleSettings } from '../../../api/service.js'
import { settingsQuery } from '../../api/queries.js'
import { CopyButton } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { guides } from '../../components/shell.js'
import { words } from './words.js'

const TESTNET = 'eip155:5042002'

/** The facts of this deployment that a guide shows. */
export interface Facts {
  settings: ConsoleSettings
  /** The network of the listings. */
  network: ConsoleNetwork
  isTestnet: boolean
  /** Address of the facilitator, without a slash at its end. */
  facilitator: string
}

interface GuideProps {
  title: string
  lead: string
  children: (facts: Facts) => ReactNode
}

/** A short page that explains, beside links to the others. */
export function Guide({ title, lead, children }: GuideProps) {
  const [path] = useLocation()
  const query = useQuery(settingsQuery)
  return (
    <>
      <nav aria-label={words.nav} className="-m-1 mb-7 flex gap-1.5 overflow-x-auto p-1">
        {guides.map(([href, name]) => (
          <Link
            key={href}
            href={href}
            aria-current={path === href ? 'page' : undefined}
            className="shrink-0 rounded-full border border-line px-3 py-1.5 text-sm text-muted hover:border-line-strong hover:text-ink aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-ink"
          >
            {name}
          </Link>
        ))}
      </nav>
      <PageTitle title={title}>{lead}</PageTitle>
      <Loaded query={query} skeleton={<Skeleton className="h-[36rem] w-full !rounded-2xl" />}>
        {(settings) => {
          const network = settings.networks.find(({ listed }) => listed)
          if (network === undefined) return null
          const facilitator = settings.baseUrl.replace(/\/+$/, '')
          return (
            <div className="max-w-3xl space-y-10">
              {children({ settings, network, isTestnet: network.network === TESTNET, facilitator })}
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

/** A part of a guide. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="space-y-3">
      <h2 className="text-lg font-semibold tracking-tight">{title}</h2>
      <div className="space-y-3 text-pretty text-muted [&_strong]:text-ink">{children}</div>
    </section>
  )
}

/** Addresses to copy, each with its name. */
export function Addresses({ rows }: { rows: readonly (readonly [name: string, url: string])[] }) {
  return (
    <Card>
      <dl className="divide-y divide-line">
        {rows.map(([name, url]) => (
          <div key={name} className="items-center gap-x-4 px-4 py-2.5 sm:flex">
            <dt className="w-44 shrink-0 text-sm text-muted">{name}</dt>
            <dd className="flex min-w-0 flex-1 items-center gap-2 font-mono text-sm text-ink">
              <span className="min-w-0 break-all">{url}</span>
              <CopyButton text={url} name={name} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

/** Statements, each with what it means. */
export function Points({ points }: { points: readonly (readonly [name: string, text: string])[] }) {
  return points.map(([name, text]) => (
    <p key={name}>
      <strong>{name}</strong> {text}
    </p>
  ))
}

/** Steps in their order. */
export function Steps({ steps }: { steps: readonly (readonly [name: string, text: string])[] }) {
  return (
    <ol className="space-y-4">
      {steps.map(([name, text], index) => (
        <li key={name} className="flex gap-4">
          <span
            aria-hidden="true"
            className="tabular flex size-8 shrink-0 items-center justify-center rounded-full bg-accent/10 text-sm font-semibold text-accent"
          >
            {index + 1}
          </span>
          <p className="pt-1">
            <strong>{name}.</strong> {text}
          </p>
        </li>
      ))}
    </ol>
  )
}
