import { createInterface } from 'node:readline/promises'
import { x402Deployments } from '../chain/deployments.js'
import { createRpc } from '../chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { type Config, type NetworkConfig, readConfig } from '../config/config.js'
import { readKeyOf, readSecrets } from '../config/secrets.js'
import { createLocalSigner, type Signer, SignerError } from '../relayer/signer.js'
import { openSigners } from '../relayer/signers.js'
import { createKeccak256 } from '../x402/keccak.js'
import { parseArguments, print, UsageError } from './command-line.js'
import { findCode } from './deploy-contracts/creation-code.js'
import {
  carryOut,
  dollars,
  type Plan,
  planDeployments,
  readMissing,
  requireChain,
} from './deploy-contracts/deployment.js'
import { CommandError, runCommand } from './operator-command.js'

const help = `npm run deploy-contracts -- --network mainnet|testnet --code PLACE [OPTIONS]

Puts x402's contracts that Arc is still without at their addresses, through the CREATE2 deployer: the settlement contract
of batch-settlement, its two collectors, and the proxy for exact payments by Permit2. Without --code it only says which of
them are missing. It shows the cost and asks before it sends. What is there already is left alone.

  --network    mainnet or testnet, whose nodes the settings name
  --code       a file with creation code (hex, or the artifact of a compiler), a folder with such files, or x402's
               contracts/evm, which forge compiles; may be repeated. Code with another hash than x402's is refused
  --key-file   a file with the private key of the wallet that pays the gas; default the first relayer wallet
  --yes        sends without a question
  --help       this text

Exit code: 0 when the contracts are there, 1 when one is missing or nothing was sent, 2 when the command is not understood.`

process.exitCode = await runCommand(async () => {
  const options = readOptions()
  if (options === 'help') return print(help)
  const config = readConfig(process.env)
  const place = config.networks.find(({ network }) => network === options.network)
  if (place === undefined) {
    throw new UsageError(`The settings name no nodes of ${options.name}: set ${options.variable}.`)
  }
  const rpc = createRpc(place.rpcUrls)
  try {
    await deploy(rpc, { place, config, options })
  } catch (error) {
    if (error instanceof RpcUnavailableError || error instanceof RpcResponseError) {
      throw new CommandError(`The chain cannot be read: ${error.message}.`)
    }
    throw error
  } finally {
    await rpc.close()
  }
})

type Options = Exclude<ReturnType<typeof readOptions>, 'help'>

function readOptions() {
  const { values } = parseArguments({
    options: {
      network: { type: 'string' },
      code: { type: 'string', multiple: true, default: [] },
      'key-file': { type: 'string' },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const { network: name, code, yes } = values
  if (name !== 'mainnet' && name !== 'testnet') {
    throw new UsageError('--network wants mainnet or testnet; try --help.')
  }
  const isMainnet = name === 'mainnet'
  return {
    name,
    network: isMainnet ? 'eip155:5042' : 'eip155:5042002',
    variable: isMainnet ? 'MAINNET_RPC_URLS' : 'TESTNET_RPC_URLS',
    code,
    keyFile: values['key-file'],
    yes,
  }
}

async function deploy(
  rpc: ReturnType<typeof createRpc>,
  { place, config, options }: { place: NetworkConfig; config: Config; options: Options },
): Promise<void> {
  const { chainId } = place
  await requireChain(rpc, chainId)
  const missing = await readMissing(rpc, x402Deployments)
  for (const { name, address } of x402Deployments) {
    const isMissing = missing.some((it) => it.address === address)
    print(`${isMissing ? 'missing' : 'there  '}  ${address}  ${name}`)
  }
  if (missing.length === 0) return print('Every contract is there: nothing is sent.')
  if (options.code.length === 0) {
    throw new CommandError(
      'Name their creation code with --code; docs/operations.md says where it is.',
    )
  }
  const code = findCode(options.code, missing)
  const { signer, close } = await openSigner(options.keyFile)
  try {
    const maxFeePerGas = config.maxFeePerGasWei
    const plan = await planDeployments(rpc, code, signer.address, { chainId, maxFeePerGas })
    show(plan, signer)
    if (!(options.yes || (await isAgreed()))) throw new CommandError('Nothing was sent.')
    await carryOut(rpc, plan, signer, ({ address, name }, hash) =>
      print(`sent     ${address}  ${name}  in ${hash}`),
    )
  } catch (error) {
    if (error instanceof SignerError) {
      throw new CommandError(`The wallet cannot sign: ${error.message}.`)
    }
    throw error
  } finally {
    await close()
  }
  const left = missing.filter((deployment) => !code.has(deployment)).map(({ name }) => name)
  if (left.length > 0) throw new CommandError(`--code had no code of ${left.join(', ')}.`)
  print('A running service names what they make possible in /supported within a minute.')
}

/** Opens the wallet that pays: the one of the file, else the first of the relayers. */
async function openSigner(
  keyFile: string | undefined,
): Promise<{ signer: Signer; close: () => Promise<void> }> {
  const keccak256 = await createKeccak256()
  if (keyFile !== undefined) {
    const signer = createLocalSigner(readKeyOf('--key-file', keyFile), keccak256)
    return { signer, close: async () => {} }
  }
  const { signers, close } = await openSigners(readSecrets(process.env), keccak256)
  const [signer] = signers
  if (signer === undefined) throw new CommandError('No relayer wallet is set: use --key-file.')
  return { signer, close }
}

function show({ steps, expectedCost, maxCost }: Plan, { address }: Signer): void {
  print()
  for (const { deployment, gasLimit } of steps) {
    print(`to send  ${deployment.address}  ${deployment.name}  at most ${gasLimit} gas`)
  }
  print(
    `The wallet ${address} pays ${dollars(expectedCost)} at the present price, at most ${dollars(maxCost)}.`,
  )
}

async function isAgreed(): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new CommandError('There is no terminal to ask at: add --yes to send. Nothing was sent.')
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question('Send? Type yes: ')
  terminal.close()
  return answer.trim().toLowerCase() === 'yes'
}
