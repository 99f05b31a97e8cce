import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { ConsoleNetwork, ConsoleSettings } from '../../../api/service.js'
import { settingsQuery } from '../../api/queries.js'
import { CopyButton, TextLink } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { CodeBlock } from '../../components/code-block.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { guides } from '../../components/shell.js'
import { OutLink } from '../../components/untrusted-text.js'
import { CheckEndpoint } from './check-endpoint.js'
import { buyerSnippet, mcpConfigSnippet, operatorSnippet, shopSnippet } from './snippets.js'
import { words } from './words.js'

const TESTNET = 'eip155:5042002'

/** The facts of this deployment that a guide shows. */
interface Facts {
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
function Guide({ title, lead, children }: GuideProps) {
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

export function HowItWorks() {
  return (
    <Guide title={words.how.title} lead={words.how.lead}>
      {({ network, settings }) => (
        <>
          <Part title={words.how.call}>
            <Steps steps={words.how.steps(network.asset.symbol, network.name)} />
          </Part>
          <Part title={words.how.risks}>
            <Points points={words.how.riskPoints} />
            <p>
              <Sentence
                text={words.how.doubt}
                parts={{ lookUp: <TextLink href="/payments">{words.how.lookUp}</TextLink> }}
              />
            </p>
          </Part>
          <Part title={words.how.glossary}>
            <dl className="space-y-3">
              {words.how.terms(network.asset.symbol).map(([word, meaning]) => (
                <div key={word}>
                  <dt className="font-medium text-ink">{word}</dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </Part>
          <Part title={words.how.next}>
            {settings.tryIt && (
              <p>
                <Sentence
                  text={words.how.tryText(settings.devnet)}
                  parts={{
                    directory: <TextLink href="/directory">{words.how.directory}</TextLink>,
                  }}
                />
              </p>
            )}
            <p>
              <Sentence
                text={words.how.nextText}
                parts={{
                  browse: <TextLink href="/directory">{words.how.browse}</TextLink>,
                  sell: <TextLink href="/for/merchants">{words.how.sell}</TextLink>,
                  agents: <TextLink href="/for/agents">{words.how.agents}</TextLink>,
                }}
              />
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}

export function ForMerchants() {
  return (
    <Guide title={words.merchants.title} lead={words.merchants.lead}>
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title={words.merchants.sell}>
            <Addresses
              rows={[
                [words.merchants.facilitator, facilitator],
                [words.merchants.network, network.network],
                [words.merchants.contract(network.asset.symbol), network.asset.address],
              ]}
            />
            <p>
              <Sentence text={words.merchants.shop} parts={{ payTo: <code>PAY_TO</code> }} />
            </p>
            <CodeBlock name={words.merchants.shopName} code={shopSnippet(facilitator, network)} />
          </Part>
          <Part title={words.merchants.check}>
            <p>{words.merchants.checkText}</p>
            <CheckEndpoint />
          </Part>
          <Part title={words.merchants.found}>
            <Steps steps={words.merchants.ways} />
            <p>
              <TextLink href="/console/new">{words.merchants.list}</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}

export function ForAgents() {
  return (
    <Guide title={words.agents.title} lead={words.agents.lead}>
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title={words.agents.find}>
            <Addresses
              rows={[
                [words.agents.mcp, `${facilitator}/mcp`],
                [words.agents.resources, `${facilitator}/discovery/resources`],
                [words.agents.search, `${facilitator}/discovery/search?query=weather`],
                [words.agents.changes, `${facilitator}/discovery/changes`],
              ]}
            />
            <p>{words.agents.mcpText}</p>
            <CodeBlock name={words.agents.mcpName} code={mcpConfigSnippet(facilitator)} />
          </Part>
          <Part title={words.agents.pay}>
            <p>{words.agents.payText}</p>
            <CodeBlock name={words.agents.buyerName} code={buyerSnippet(network)} />
          </Part>
          <Part title={words.agents.trust}>
            <p>{words.agents.trustText}</p>
            <p>{words.agents.evidence}</p>
            <p>
              <TextLink href="/directory">{words.agents.browse}</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}

export function ForOperators() {
  return (
    <Guide title={words.operators.title} lead={words.operators.lead}>
      {({ isTestnet }) => (
        <>
          <Part title={words.operators.start}>
            <p>
              <Sentence text={words.operators.needs} parts={{ file: <code>relayer.keys</code> }} />
            </p>
            <CodeBlock name={words.operators.commandsName} code={operatorSnippet(isTestnet)} />
            <p>
              <Sentence
                text={words.operators.doctor}
                parts={{ command: <code>npm run doctor</code> }}
              />
            </p>
          </Part>
          <Part title={words.operators.cost}>
            <p>{words.operators.costText}</p>
          </Part>
          <Part title={words.operators.duties}>
            <Points points={words.operators.dutyPoints} />
            <p>
              <Sentence
                text={words.operators.replicas}
                parts={{ status: <TextLink href="/status">{words.operators.status}</TextLink> }}
              />
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}

const FAUCET = 'faucet.circle.com'

/** Says where money to try it with comes from. */
function TestMoney({ settings, network, isTestnet }: Omit<Facts, 'facilitator'>) {
  if (settings.devnet) {
    return (
      <Part title={words.money.play}>
        <p>
          <Sentence
            text={words.money.playText(network.asset.symbol)}
            parts={{ command: <code>npm run dev</code> }}
          />
        </p>
        <CodeBlock name={words.money.commandName} code="npm run pay" />
      </Part>
    )
  }
  return (
    <Part title={words.money.free}>
      <p>
        <Sentence
          text={isTestnet ? words.money.onTestnet : words.money.onMainnet}
          parts={{ faucet: <OutLink href={`https://${FAUCET}`}>{FAUCET}</OutLink> }}
        />
      </p>
    </Part>
  )
}

/** A part of a guide. */
function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="space-y-3">
      <h2 className="text-lg font-semibold tracking-tight">{title}</h2>
      <div className="space-y-3 text-pretty text-muted [&_strong]:text-ink">{children}</div>
    </section>
  )
}

/** Addresses to copy, each with its name. */
function Addresses({ rows }: { rows: readonly (readonly [name: string, url: string])[] }) {
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
function Points({ points }: { points: readonly (readonly [name: string, text: string])[] }) {
  return points.map(([name, text]) => (
    <p key={name}>
      <strong>{name}</strong> {text}
    </p>
  ))
}

/** Steps in their order. */
function Steps({ steps }: { steps: readonly (readonly [name: string, text: string])[] }) {
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
