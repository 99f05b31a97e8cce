import { CodeBlock } from '../../components/code-block.js'
import { OutLink } from '../../components/untrusted-text.js'
import { type Facts, Part } from './guide.js'

/** Says where money to try it with comes from. */
export function TestMoney({ settings, network, isTestnet }: Omit<Facts, 'facilitator'>) {
  if (settings.devnet) {
    return (
      <Part title="Play money">
        <p>
          This is a local chain, and its money is worth nothing. <code>npm run dev</code> prints the
          key of a wallet with 100 {network.asset.symbol}. This command pays the sample API with it:
        </p>
        <CodeBlock name="command" code="npm run pay" />
      </Part>
    )
  }
  return (
    <Part title="Money to try it with">
      <p>
        {isTestnet
          ? 'This is the testnet. Its money is free: '
          : 'Try it on the testnet first. Its money is free: '}
        choose Arc Testnet at <OutLink href="https://faucet.circle.com">faucet.circle.com</OutLink>.
      </p>
    </Part>
  )
}
