import { createInterface } from 'node:readline/promises'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { type Config, type NetworkConfig, readConfig } from '../app/config/config.js'
import { readKeyOf, readSecrets } from '../app/config/secrets.js'
import { relayerMulticallOf, x402Deployments } from '../chain/deployments.js'
import { createRpc, type Rpc } from '../chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import {
  createLocalSigner,
  type OpenSigners,
  openSigners,
  type Signer,
  SignerError,
} from '../facilitator/relayer/signer.js'
import { type Arguments, CommandError, defineCommand, print, UsageError } from './command-line.js'
import { type FoundCode, findCode } from './deploy-contracts/creation-code.js'
import {
  carryOut,
  type DeploymentPlan,
  dollars,
  planDeployments,
  readMissing,
  requireChain,
} from './deploy-contracts/deployment.js'

const help = `arcus deploy-contracts --network mainnet|testnet --code PLACE [OPTIONS]

Deploys contracts that Arc still lacks to their addresses, through the CREATE2 deployer: those of x402, which are the
settlement contract of batch-settlement, its two collectors and the two proxies for payments by Permit2 (Arc has that of
upto), and the multicall of your relayer wallets, through which payments of upto share transactions. You bring x402's code
with --code. The command shows the cost and asks before it sends. What is there already is left alone.

  --network    mainnet or testnet, whose nodes the settings name
  --code       a file with creation code (hex, or the artifact of a compiler), a folder with such files, or x402's
               contracts/evm, which forge compiles; may be repeated. Code with another hash than x402's is refused
  --key-file   a file with the private key of the wallet that pays the gas; default the first relayer wallet
  --yes        sends without a question
  --help       this text

Exit code: 0 when the contracts are there, 1 when one is missing or nothing was sent, 2 when the command is not understood.`

const parameters = {
  options: {
    network: { type: 'string' },
    code: { type: 'string', multiple: true, default: [] as string[] },
    'key-file': { type: 'string' },
    yes: { type: 'boolean', default: false },
  },
} as const

export const command = defineCommand(help, parameters, async ({ values }) => {
  const options = readOptions(values)
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

type DeployOptions = ReturnType<typeof readOptions>

function readOptions(values: Arguments<typeof parameters>['values']) {
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

async function deploy(rpc: Rpc, work: Omit<Work, 'relayers'>): Promise<void> {
  await requireChain(rpc, work.place.chainId)
  const { signers, close } = await openRelayers()
  try {
    await deployMissing(rpc, { ...work, relayers: signers })
  } catch (error) {
    if (error instanceof SignerError) {
      throw new CommandError(`The wallet cannot sign: ${error.message}.`)
    }
    throw error
  } finally {
    await close()
  }
}

/** Opens the relayer wallets of the settings. With --key-file there need be none. */
async function openRelayers(): Promise<OpenSigners> {
  const isSet = Object.entries(process.env).some(([name, it]) => /^RELAYER_/.test(name) && it)
  if (!isSet) return { signers: [], close: async () => {} }
  return openSigners(readSecrets(process.env), await createKeccak256())
}

interface Work {
  place: NetworkConfig
  config: Config
  options: DeployOptions
  relayers: readonly Signer[]
}

async function deployMissing(rpc: Rpc, work: Work): Promise<void> {
  const { config, options, relayers } = work
  const callers = config.multicallWallets ?? relayers.map(({ address }) => address)
  const multicall = relayerMulticallOf(callers)
  const wanted = callers.length > 0 ? [...x402Deployments, multicall] : x402Deployments
  const missing = await readMissing(rpc, wanted)
  for (const deployment of wanted) {
    const state = missing.includes(deployment) ? 'missing' : 'there  '
    print(`${state}  ${deployment.address}  ${deployment.name}`)
  }
  if (missing.length === 0) return print('Every contract is there: nothing is sent.')
  const foreign = missing.filter((deployment) => deployment !== multicall)
  const code = findCode(options.code, foreign)
  if (missing.includes(multicall)) code.set(multicall, multicall.creationCode)
  if (code.size > 0) await send(rpc, code, work)
  const left = foreign.filter((deployment) => !code.has(deployment)).map(({ name }) => name)
  if (left.length === 0) {
    return print('A running service names what they make possible in /supported within a minute.')
  }
  throw new CommandError(
    options.code.length > 0
      ? `--code had no code of ${left.join(', ')}.`
      : `The code of ${left.join(', ')} is x402's: name it with --code; docs/operations.md says where it is.`,
  )
}

async function send(rpc: Rpc, code: FoundCode, work: Work): Promise<void> {
  const { place, config, options } = work
  const signer = await payerOf(work)
  const limits = { chainId: place.chainId, maxFeePerGas: config.maxFeePerGasWei }
  const plan = await planDeployments(rpc, code, signer.address, limits)
  show(plan, signer)
  if (!(options.yes || (await isAgreed()))) throw new CommandError('Nothing was sent.')
  await carryOut(rpc, plan, signer, ({ address, name }, hash) =>
    print(`sent     ${address}  ${name}  in ${hash}`),
  )
}

/** Returns the wallet that pays: the one of the file, else the first of the relayers. */
async function payerOf({ options: { keyFile }, relayers }: Work): Promise<Signer> {
  if (keyFile !== undefined) {
    return createLocalSigner(readKeyOf('--key-file', keyFile), await createKeccak256())
  }
  const [signer] = relayers
  if (signer === undefined) throw new CommandError('No relayer wallet is set: use --key-file.')
  return signer
}

function show({ steps, expectedCost, maxCost }: DeploymentPlan, { address }: Signer): void {
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
