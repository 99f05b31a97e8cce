import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import {
  ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import { concatHex, type Hex, keccak256, pad, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  create2Deployer,
  type Deployment,
  deployedAddress,
  permit2Address,
  relayerMulticallOf,
  x402Deployments,
} from '../../src/chain/deployments.js'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { findCode } from '../../src/cli/deploy-contracts/creation-code.js'
import {
  carryOut,
  planDeployments,
  readMissing,
  requireChain,
} from '../../src/cli/deploy-contracts/deployment.js'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import {
  fundNative,
  nativeBalance,
  placeContracts,
  readArtifact,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { createLocalSigner, type Signer } from '../../src/facilitator/relayer/signer.js'
import { anAccount } from '../support/an-account.js'
import { arcus } from '../support/scripts.js'

const chainId = 5042
const maxFeePerGas = 1_000n * 10n ** 9n
let anvil: Anvil
let rpc: Rpc
let folder: string
beforeAll(async () => {
  anvil = await startAnvil()
  rpc = createRpc([anvil.url])
  await placeContracts(anvil.url)
  folder = mkdtempSync(join(tmpdir(), 'arcus-deploy-'))
})
afterAll(async () => {
  await rpc?.close()
  await anvil?.stop()
  rmSync(folder, { recursive: true })
})

let salts = 0n
/** A contract of ours under a fresh address, in place of one of x402. */
function aDeployment(name: 'BatchSettlement' | 'ExactPermit2Proxy'): Deployment & { code: Hex } {
  const code = readArtifact(name).bytecode
  const pin = {
    salt: toHex(++salts, { size: 32 }),
    codeHash: keccak256(concatHex([code, pad(permit2Address)])),
  }
  const address = deployedAddress(pin)
  const needs = permit2Address
  return { name, ...pin, address, constructorArguments: [permit2Address], needs, code }
}

async function aSigner(wei = 10n ** 20n): Promise<Signer> {
  const { privateKey } = devnetRelayers[0] ?? { privateKey: '0x' }
  const signer = createLocalSigner(privateKey, await createKeccak256())
  await fundNative(anvil.url, signer.address, wei)
  return signer
}

const codeAt = (address: string) => call<Hex>(anvil.url, 'eth_getCode', [address, 'latest'])
const plan = (code: Map<Deployment, Hex>, from: Signer, cap = maxFeePerGas) =>
  planDeployments(rpc, code, from.address, { chainId, maxFeePerGas: cap })
const wholeCode = (it: Deployment & { code: Hex }) =>
  new Map([[it, concatHex([it.code, pad(permit2Address)])]])

it('pins x402 code whose address by CREATE2 is the one that x402 names', () => {
  for (const deployment of x402Deployments) {
    expect(deployedAddress(deployment), deployment.name).toBe(deployment.address)
  }
  expect(x402Deployments.map(({ address }) => address)).toEqual(
    expect.arrayContaining(
      [
        ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
        x402ExactPermit2ProxyAddress,
        x402UptoPermit2ProxyAddress,
      ].map((it) => it.toLowerCase()),
    ),
  )
})

describe('deployment', () => {
  it('puts what is missing at its address once, for the cost that it showed', async () => {
    const [first, second] = [aDeployment('BatchSettlement'), aDeployment('ExactPermit2Proxy')]
    const place = join(folder, 'both')
    mkdirSync(join(place, 'out'), { recursive: true })
    // The hash tells the codes apart, whatever the files are called.
    writeFileSync(join(place, 'exact-proxy.hex'), `${first.code.slice(2)}\n`)
    const bytecode = { object: second.code }
    writeFileSync(join(place, 'out', 'Other.json'), JSON.stringify({ bytecode }))
    writeFileSync(join(place, 'notes.txt'), 'no code')
    expect(await readMissing(rpc, [first, second])).toEqual([first, second])

    const code = findCode([place], [first, second])
    const signer = await aSigner()
    const before = await nativeBalance(anvil.url, signer.address)
    const planned = await plan(code, signer)
    const sent: string[] = []
    await carryOut(rpc, planned, signer, ({ name }) => sent.push(name))
    expect(sent.sort()).toEqual(['BatchSettlement', 'ExactPermit2Proxy'])
    expect(await codeAt(first.address)).toBe(readArtifact('BatchSettlement').deployedBytecode)
    expect(await codeAt(second.address)).toBe(readArtifact('ExactPermit2Proxy').deployedBytecode)
    expect(await readMissing(rpc, [first, second])).toEqual([])

    const paid = before - (await nativeBalance(anvil.url, signer.address))
    expect(paid).toBeLessThanOrEqual(planned.maxCost)
    // The base fee falls by an eighth a block at most on the local chain, and two blocks were mined.
    expect(Number(paid) / Number(planned.expectedCost)).toBeGreaterThan(0.7)
    expect(Number(paid) / Number(planned.expectedCost)).toBeLessThan(1.1)
  })

  it('is done when somebody else was faster', async () => {
    const deployment = aDeployment('BatchSettlement')
    const signer = await aSigner()
    const planned = await plan(wholeCode(deployment), signer)
    await carryOut(rpc, planned, signer, () => {})
    const again: string[] = []
    await carryOut(rpc, planned, signer, ({ name }) => again.push(name))
    expect(again).toEqual(['BatchSettlement'])
  })

  it('sends nothing from a wallet that cannot pay, or whose transactions are under way', async () => {
    const deployment = aDeployment('BatchSettlement')
    const poor = await aSigner(10n ** 14n)
    await expect(plan(wholeCode(deployment), poor)).rejects.toThrow(
      /^The wallet 0x\w{40} holds 0\.0001 USDC, and the gas may take 0\.\d+ USDC: send it USDC/,
    )
    const signer = await aSigner()
    const planned = await plan(wholeCode(deployment), signer)
    await call(anvil.url, 'evm_setAutomine', [false])
    const transaction = { from: signer.address, to: anAccount().address, value: '0x1' }
    await call(anvil.url, 'eth_sendTransaction', [transaction])
    await expect(carryOut(rpc, planned, signer, () => {})).rejects.toThrow(
      /has transactions under way: stop the service that uses it/,
    )
    await call(anvil.url, 'evm_mine')
    await call(anvil.url, 'evm_setAutomine', [true])
    expect(await codeAt(deployment.address)).toBe('0x')
  })

  it('sends nothing above the cap on fees, to another chain, or without what the contract needs', async () => {
    const deployment = aDeployment('BatchSettlement')
    const signer = await aSigner()
    await expect(plan(wholeCode(deployment), signer, 1n)).rejects.toThrow(/MAX_FEE_PER_GAS_GWEI/)
    await expect(requireChain(rpc, 5_042_002)).rejects.toThrow(
      'A node serves chain 5042 instead of 5042002: name nodes of this one.',
    )
    const deployer = await codeAt(create2Deployer)
    await call(anvil.url, 'anvil_setCode', [create2Deployer, '0x'])
    await expect(readMissing(rpc, [deployment])).rejects.toThrow(/where the CREATE2 deployer is/)
    await call(anvil.url, 'anvil_setCode', [create2Deployer, deployer])
    const permit2 = await codeAt(permit2Address)
    await call(anvil.url, 'anvil_setCode', [permit2Address, '0x'])
    await expect(readMissing(rpc, [deployment])).rejects.toThrow(/where Permit2 is/)
    await call(anvil.url, 'anvil_setCode', [permit2Address, permit2])
  })
})

describe('creation code', () => {
  it('is refused when it is not the pinned one', () => {
    const deployment = aDeployment('BatchSettlement')
    const file = join(folder, 'settlement.hex')
    writeFileSync(file, `${deployment.code}00`)
    expect(() => findCode([file], [deployment])).toThrow(
      /settlement\.hex holds code with the hash 0x\w{64}, which no missing contract has/,
    )
    expect(() => findCode([join(folder, 'none')], [deployment])).toThrow(/cannot be read/)
    mkdirSync(join(folder, 'empty'))
    expect(() => findCode([join(folder, 'empty')], [deployment])).toThrow(/No file in .*empty is/)
  })

  it('is compiled by forge where the folder holds sources', () => {
    const deployment = aDeployment('BatchSettlement')
    const [sources, bin] = [join(folder, 'sources'), join(folder, 'bin')]
    mkdirSync(sources)
    mkdirSync(bin)
    writeFileSync(join(sources, 'foundry.toml'), '')
    const path = process.env.PATH
    try {
      process.env.PATH = bin
      expect(() => findCode([sources], [deployment])).toThrow(/forge cannot be started/)
      const forge = `#!/bin/sh\n[ "$1 $2" = "build --root" ] && echo ${deployment.code} > "$3/code.hex"\n`
      writeFileSync(join(bin, 'forge'), forge)
      chmodSync(join(bin, 'forge'), 0o755)
      expect([...findCode([sources], [deployment]).keys()]).toEqual([deployment])
    } finally {
      process.env.PATH = path
    }
  })
})

describe('arcus deploy-contracts', () => {
  const run = (...args: string[]) => runWith({}, ...args)
  const runWith = async (settings: Record<string, string>, ...args: string[]) => {
    const env = { PATH: process.env.PATH, MAINNET_RPC_URLS: anvil.url, ...settings }
    const options = { cwd: folder, env }
    return promisify(execFile)(process.execPath, arcus('deploy-contracts', ...args), options).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      ({ code, stdout, stderr }) => ({ code: code as number, text: stdout + stderr }),
    )
  }

  it('says what is missing, and refuses any other code', async () => {
    const mainnet = ['--network', 'mainnet']
    const { code, text } = await run(...mainnet)
    expect(text).toMatch(/there {4}0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003 {2}x402BatchSettl/)
    expect(text).toMatch(/missing {2}0x4020425faf3b746c082c2f942b4e5159887b0005 {2}Permit2Deposit/)
    expect(text).toMatch(/The code of Permit2DepositCollector is x402's: name it with --code/)
    expect(code).toBe(1)
    const file = join(folder, 'ours.hex')
    writeFileSync(file, readArtifact('BatchSettlement').bytecode)
    const refused = await run(...mainnet, '--code', file, '--yes')
    expect(refused.text).toContain("only x402's own code")
    expect(refused.code).toBe(1)
  })

  it('does nothing where all is there, and knows two networks', async () => {
    const collector = '0x4020425FAf3B746C082C2f942b4E5159887B0005'
    await call(anvil.url, 'anvil_setCode', [collector, '0x00'])
    const { code, text } = await run('--network', 'mainnet', '--yes')
    expect(text).toContain('Every contract is there: nothing is sent.')
    expect(code).toBe(0)
    expect(await run('--network', 'base')).toEqual({
      code: 2,
      text: '--network wants mainnet or testnet; try --help.\n',
    })
    expect((await run('--network', 'testnet')).text).toContain('set TESTNET_RPC_URLS')
  })

  it('deploys the multicall of the relayers that are set, in whatever order', async () => {
    const keys = devnetRelayers.map(({ privateKey }) => privateKey)
    await aSigner()
    const settings = { RELAYER_PRIVATE_KEYS: keys.join(',') }
    const { code, text } = await runWith(settings, '--network', 'mainnet', '--yes')
    const { address } = relayerMulticallOf(devnetRelayers.map((it) => it.address))
    expect(text).toMatch(new RegExp(`sent {5}${address} {2}RelayerMulticall {2}in 0x`))
    expect([code, await codeAt(address)]).toEqual([
      0,
      readArtifact('RelayerMulticall').deployedBytecode,
    ])
    const reversed = { RELAYER_PRIVATE_KEYS: keys.reverse().join(',') }
    const again = await runWith(reversed, '--network', 'mainnet', '--yes')
    expect(again.text).toContain('Every contract is there: nothing is sent.')
  })
})
