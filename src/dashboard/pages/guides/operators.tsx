import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Guide, Part } from './guide.js'
import { operatorSnippet } from './snippets.js'

export function ForOperators() {
  return (
    <Guide
      title="For operators"
      lead="Run this facilitator yourself. It is one process with one database file."
    >
      {({ isTestnet }) => (
        <>
          <Part title="Start it">
            <p>
              You need Node 20.19 or newer, a checkout of Arcus, and one or more wallets that hold a
              few dollars of USDC for gas. Put their keys into <code>relayer.keys</code>, one a
              line.
            </p>
            <CodeBlock name="commands" code={operatorSnippet(isTestnet)} />
            <p>
              <code>npm run doctor</code> checks settings, nodes, wallets, database and clock, and
              says what to do about each problem.
            </p>
          </Part>
          <Part title="What it costs">
            <p>
              You pay the gas of every payment, about a tenth of a cent. Arcus takes no fee. Limits
              for each day keep buyers and merchants from spending your gas for nothing.
            </p>
          </Part>
          <Part title="What you answer for">
            <p>
              <strong>Relayer keys can spend your gas money, and nothing else.</strong> They cannot
              redirect a payment.
            </p>
            <p>
              <strong>The database remembers every payment that was sent.</strong> Keep it on a disk
              that survives. A process that is killed finishes its work after the next start.
            </p>
            <p>
              Two or more processes share the work with PostgreSQL. See how this one is doing on its{' '}
              <TextLink href="/status">status page</TextLink>.
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}
