import type { ConsoleNetwork, ConsoleSettings } from '@arcus/protocol/answers/service'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import agent from '../../../../docs/quickstarts/agent.md?raw'
import buy from '../../../../docs/quickstarts/buy.md?raw'
import howItWorks from '../../../../docs/quickstarts/how-it-works.md?raw'
import sell from '../../../../docs/quickstarts/sell.md?raw'
import { listedNetwork, settingsQuery } from '../../api/queries.js'
import { CopyButton } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { useSearchState } from '../../components/search-state.js'
import { OutLink } from '../../components/untrusted-text.js'
import { contentsOf, Markdown } from './markdown.js'

/** The pages of the quickstarts, by the name of their file. */
const parts = { sell, buy, agent } as const
type QuickstartPart = keyof typeof parts

const pages = [
  ['How it works', '/how-it-works'],
  ['Sell', '/quickstart'],
  ['Buy', '/quickstart?part=buy'],
  ['Agent', '/quickstart?part=agent'],
  ['Operate', '/operations'],
] as const

export function HowItWorks() {
  return <DocsPage text={howItWorks} />
}

/** A quickstart of `docs/quickstarts`, with the facts of this deployment in it. */
export function Quickstart() {
  const { values } = useSearchState({ part: Object.keys(parts) })
  const part = (values.part ?? 'sell') as QuickstartPart
  return (
    <DocsPage key={part} part={part} text={parts[part]}>
      {(settings, network) => (
        <>
          <Addresses settings={settings} network={network} part={part} />
          {!settings.devnet && <TestMoney network={network} />}
        </>
      )}
    </DocsPage>
  )
}

/** A page that explains, below links to the others. */
export function DocsPage({
  part,
  text,
  children,
}: {
  part?: QuickstartPart
  text: string
  children?: (settings: ConsoleSettings, network: ConsoleNetwork) => ReactNode
}) {
  const [path] = useLocation()
  const query = useQuery(settingsQuery)
  const here = part === undefined || part === 'sell' ? path : `${path}?part=${part}`
  return (
    <>
      <nav aria-label="Docs" className="-m-1 mb-7 flex gap-1.5 overflow-x-auto p-1">
        {pages.map(([name, href]) => (
          <Link
            key={href}
            href={href}
            aria-current={here === href ? 'page' : undefined}
            className={`${pill} aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-ink`}
          >
            {name}
          </Link>
        ))}
        <a href="/docs" className={pill}>
          HTTP interface
        </a>
      </nav>
      <PageTitle title={titleOf(text)} />
      <Loaded query={query} skeleton={<Skeleton isCard className="h-144 w-full" />}>
        {(settings) => {
          const network = listedNetwork(settings)
          if (network === undefined) return null
          const local = localText(text, settings, network)
          return (
            <div className="grid grid-cols-1 gap-x-12 lg:grid-cols-[minmax(0,48rem)_minmax(0,1fr)]">
              <div className="min-w-0 space-y-8">
                {children?.(settings, network)}
                <Markdown text={local} />
              </div>
              <Contents text={local} />
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

/** Lists the sections of a page beside it, where there is room. */
function Contents({ text }: { text: string }) {
  return (
    <nav aria-label="On this page" className="max-lg:hidden">
      <ul className="sticky top-24 space-y-2 border-l border-line pl-5 text-sm">
        {contentsOf(text).map(({ name, href }) => (
          <li key={href}>
            <a href={href} className="text-muted hover:text-ink">
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const pill =
  'shrink-0 rounded-full border border-line px-3 py-1.5 text-sm text-muted hover:border-line-strong hover:text-ink'

/** Returns the first heading of a page. */
function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? 'Docs'
}

const facilitatorOf = ({ baseUrl }: ConsoleSettings) => baseUrl.replace(/\/+$/, '')

/**
 * Replaces the facts of `npm run dev` by those of this deployment. Where money is real, all that speaks of the devnet
 * goes, above all its public keys and addresses.
 */
function localText(text: string, settings: ConsoleSettings, network: ConsoleNetwork): string {
  const named = text
    .replace(/ Everything on this page is executed by `[^`]*`\./, '')
    .replaceAll('http://localhost:4021', facilitatorOf(settings))
    .replaceAll('eip155:5042', network.network)
    .replaceAll('0x3600000000000000000000000000000000000000', network.asset.address)
  if (settings.devnet) return named
  return named
    .replace(/<!-- devnet -->[\s\S]*?<!-- \/devnet -->/g, '')
    .replace(/ \?\? '(?:0x[0-9a-fA-F]{40}|http:\/\/localhost:4022[^']*)'/g, '')
    .replace(/0x[0-9a-f]{64}/g, '0x…')
}

/** Addresses of this deployment to copy. */
function Addresses({
  settings,
  network,
  part,
}: {
  settings: ConsoleSettings
  network: ConsoleNetwork
  part: QuickstartPart
}) {
  const facilitator = facilitatorOf(settings)
  const rows: (readonly [name: string, value: string])[] =
    part === 'agent'
      ? [
          ['MCP server', `${facilitator}/mcp`],
          ['List of all APIs', `${facilitator}/discovery/resources`],
          ['Search', `${facilitator}/discovery/search?query=weather`],
        ]
      : [
          ['Facilitator', facilitator],
          ['Network', network.network],
          [`${network.asset.symbol} contract`, network.asset.address],
        ]
  return (
    <Card>
      <dl className="divide-y divide-line">
        {rows.map(([name, value]) => (
          <div key={name} className="items-center gap-x-4 px-4 py-2.5 sm:flex">
            <dt className="w-44 shrink-0 text-sm text-muted">{name}</dt>
            <dd className="flex min-w-0 flex-1 items-center gap-2 font-mono text-xs text-ink">
              <span className="min-w-0 break-all">{value}</span>
              <CopyButton text={value} name={name} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

const TESTNET = 'eip155:5042002'
const FAUCET = 'faucet.circle.com'

/** Says where money to try it with comes from. */
function TestMoney({ network }: { network: ConsoleNetwork }) {
  return (
    <p className="text-pretty text-muted">
      {network.network === TESTNET ? 'This is the testnet. ' : 'Try it on the testnet first. '}
      Its money is free: choose Arc Testnet at{' '}
      <OutLink href={`https://${FAUCET}`}>{FAUCET}</OutLink>.
    </p>
  )
}
