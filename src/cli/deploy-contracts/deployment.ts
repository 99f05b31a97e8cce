import { setTimeout as sleep } from 'node:timers/promises'
import { formatNative, type NativeAmount } from '@arcus/protocol/x402/amounts'
import type { Address, Hex } from 'viem'
import { asQuantity, parseQuantity } from '../../chain/abi.js'
import { createCodedReader, readGasMoney, readTransactionCount } from '../../chain/accounts.js'
import { asked, createChainClient, rpcErrorOf } from '../../chain/client.js'
import { create2Deployer, type Deployment, encodeDeployment } from '../../chain/deployments.js'
import { findReceiptAnywhere } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { type Fees, priceOf, quoteFees } from '../../facilitator/relayer/gas.js'
import type { Signer } from '../../facilitator/relayer/signer.js'
import { CommandError } from '../command-line.js'
import type { FoundCode } from './creation-code.js'

/** Nodes estimate a creation to the unit; gas that is left over is given back. */
const GAS_MARGIN_PERCENT = 110n
const RECEIPT_TIMEOUT_MS = 60_000
const POLL_MS = 500

/** A contract about to be put at its address. */
interface DeploymentStep {
  deployment: Deployment
  data: Hex
  /** Units of gas. */
  gasLimit: bigint
}

export interface DeploymentPlan {
  chainId: number
  steps: readonly DeploymentStep[]
  fees: Fees
  /** The cost of the gas at the present price, and at most; 18-decimal units. */
  expectedCost: bigint
  maxCost: bigint
}

/** Throws a `CommandError` when a node serves another chain. */
export async function requireChain(rpc: Rpc, chainId: number): Promise<void> {
  const answers = await rpc.everywhere('eth_chainId', [])
  const ids = answers.flatMap((answer) => (answer.ok ? [Number(asQuantity(answer.value))] : []))
  if (ids.length === 0) throw new CommandError('No chain node answers: check the RPC addresses.')
  const other = ids.find((id) => id !== chainId)
  if (other === undefined) return
  throw new CommandError(
    `A node serves chain ${other} instead of ${chainId}: name nodes of this one.`,
  )
}

/** Reads which contracts have no code yet. Throws a `CommandError` when the chain lacks what they are built on. */
export async function readMissing(
  rpc: Rpc,
  deployments: readonly Deployment[],
): Promise<Deployment[]> {
  const needs = deployments.flatMap((it) => it.needs ?? [])
  const addresses = [create2Deployer, ...needs, ...deployments.map((it) => it.address)]
  const coded = await createCodedReader(rpc)(addresses)
  const missing = deployments.filter(({ address }) => !coded.has(address))
  if (missing.length === 0) return []
  const absent = [create2Deployer, ...missing.flatMap((it) => it.needs ?? [])].find(
    (address) => !coded.has(address),
  )
  if (absent === undefined) return missing
  const name = absent === create2Deployer ? 'the CREATE2 deployer' : 'Permit2'
  throw new CommandError(
    `The chain has no code at ${absent}, where ${name} is on Arc: check that the nodes serve Arc.`,
  )
}

/** Estimates gas and cost. Throws a `CommandError` when the fee is above the cap or the wallet cannot pay the most it may take. */
export async function planDeployments(
  rpc: Rpc,
  code: FoundCode,
  from: Address,
  { chainId, maxFeePerGas }: { chainId: number; maxFeePerGas: bigint },
): Promise<DeploymentPlan> {
  const client = createChainClient(rpc)
  const steps: DeploymentStep[] = []
  for (const [deployment, creationCode] of code) {
    const data = encodeDeployment(deployment, creationCode)
    const call = { account: from, to: create2Deployer, data }
    const estimate = await client.estimateGas(call).catch((error: Error) => {
      const { message } = rpcErrorOf(error) ?? error
      throw new CommandError(`${deployment.name} cannot be created: ${message}.`)
    })
    const gasLimit = (estimate * GAS_MARGIN_PERCENT) / 100n
    steps.push({ deployment, data, gasLimit })
  }
  const { baseFeePerGas: baseFee } = await asked(client.getBlock(), 'the newest block')
  if (baseFee === null) throw new CommandError('The newest block has no base fee, as Arc has.')
  const fees = quoteFees(baseFee, maxFeePerGas)
  if (fees === undefined) {
    throw new CommandError(
      'The price of gas is above MAX_FEE_PER_GAS_GWEI: wait, or raise the setting.',
    )
  }
  const gas = steps.reduce((sum, { gasLimit }) => sum + gasLimit, 0n)
  const expectedCost = (gas * 100n * priceOf(baseFee)) / GAS_MARGIN_PERCENT
  const maxCost = gas * fees.maxFeePerGas
  const held = await readGasMoney(rpc, from)
  if (held >= maxCost) return { chainId, steps, fees, expectedCost, maxCost }
  throw new CommandError(
    `The wallet ${from} holds ${dollars(held)}, and the gas may take ${dollars(maxCost)}: send it USDC, or name another wallet with --key-file.`,
  )
}

/**
 * Sends the steps one after another, each after the one before has its code, and calls back for each. Throws a
 * `CommandError` for a step that does not get there; a second run goes on where this one stopped.
 */
export async function carryOut(
  rpc: Rpc,
  plan: DeploymentPlan,
  signer: Signer,
  done: (deployment: Deployment, hash: Hex) => void,
): Promise<void> {
  for (const step of plan.steps) {
    const hash = await send(rpc, plan, step, signer)
    await waitForCode(rpc, step.deployment, hash)
    done(step.deployment, hash)
  }
}

async function send(
  rpc: Rpc,
  plan: DeploymentPlan,
  step: DeploymentStep,
  signer: Signer,
): Promise<Hex> {
  const nonce = await readTransactionCount(rpc, signer.address)
  const pending = await rpc.request('eth_getTransactionCount', [signer.address, 'pending'])
  if (Number(parseQuantity(pending)) > nonce) {
    throw new CommandError(
      `The wallet ${signer.address} has transactions under way: stop the service that uses it, or name another wallet with --key-file.`,
    )
  }
  const raw = await signer.sign({
    chainId: plan.chainId,
    nonce,
    to: create2Deployer,
    data: step.data,
    gasLimit: step.gasLimit,
    ...plan.fees,
  })
  try {
    return (await rpc.request('eth_sendRawTransaction', [raw])) as Hex
  } catch (error) {
    throw new CommandError(
      `The node did not take the transaction for ${step.deployment.name}: ${(error as Error).message}. Run the command again: it sends only what is missing.`,
    )
  }
}

/** Somebody else may have been faster: then the transaction reverts, and the code is there all the same. */
async function waitForCode(rpc: Rpc, { name, address }: Deployment, hash: Hex): Promise<void> {
  const readCoded = createCodedReader(rpc)
  const deadline = Date.now() + RECEIPT_TIMEOUT_MS
  while (Date.now() < deadline) {
    const receipt = await findReceiptAnywhere(rpc, hash).catch(() => undefined)
    if (receipt !== undefined) {
      const coded = await readCoded([address], receipt.blockNumber).catch(() => undefined)
      if (coded?.has(address)) return
      if (coded !== undefined && !receipt.isSuccess) {
        throw new CommandError(`The transaction ${hash} for ${name} reverted.`)
      }
    }
    await sleep(POLL_MS)
  }
  throw new CommandError(
    `The transaction ${hash} for ${name} has put no code at ${address} within a minute: check it, and run the command again once it is mined.`,
  )
}

/** Writes 18-decimal units as dollars, without what is below a millionth. */
export function dollars(amount: NativeAmount): string {
  return `${formatNative(amount - (amount % 10n ** 12n))} USDC`
}
