import type { AddressInfo } from 'node:net'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import express from 'express'
import { createWalletClient, http, publicActions } from 'viem'
import { base } from 'viem/chains'
import { devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { startAnvil } from '../../src/devnet/anvil.js'
import {
  fundNative,
  mintToken,
  placeContracts,
  readArtifact,
  tokenBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'

/** USDC on Base, which the official packages know by this address. */
export const usdcOfBase = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const [relayer] = devnetRelayers

/**
 * Starts a chain with the id of Base, and before it the facilitator of the official packages, which also says that it
 * settles on Solana and cannot.
 */
export async function startBase() {
  const anvil = await startAnvil({ chainId: base.id })
  await placeContracts(anvil.url)
  const code = readArtifact('MockBaseUsdc').deployedBytecode
  await call(anvil.url, 'anvil_setCode', [usdcOfBase, code])
  await mintToken(anvil.url, usdcOfBase, devnetPayer.address, 1_000_000n)
  if (relayer === undefined) throw new Error('there is no relayer')
  await fundNative(anvil.url, relayer.address, 10n ** 18n)
  const client = createWalletClient({
    account: relayer.account,
    chain: base,
    transport: http(anvil.url),
  }).extend(publicActions)
  // The adapter's parameter is a looser picture of this very client.
  const signer = toFacilitatorEvmSigner({ ...client, address: relayer.address } as never)
  const facilitator = new x402Facilitator().register('eip155:8453', new ExactEvmScheme(signer))
  const app = express()
  app.use(express.json())
  app.get('/supported', (_request, response) => {
    const supported = facilitator.getSupported()
    response.json({ ...supported, kinds: [...supported.kinds, solana] })
  })
  for (const verb of ['verify', 'settle'] as const) {
    app.post(`/${verb}`, async (request, response) => {
      const { paymentPayload, paymentRequirements } = request.body
      response.json(await facilitator[verb](paymentPayload, paymentRequirements))
    })
  }
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    balanceOf: (address: `0x${string}`) => tokenBalance(anvil.url, usdcOfBase, address),
    async stop() {
      server.close()
      server.closeAllConnections()
      await anvil.stop()
    },
  }
}

const solana = {
  x402Version: 2,
  scheme: 'exact',
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  extra: { feePayer: '7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV' },
}
