import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import express from 'express'
import { createWalletClient, defineChain, type Hex, http, publicActions } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'

/**
 * The facilitator of the official packages, as their example builds it, for comparison. Environment: PORT, RPC_URL,
 * KEY, and NONCE_MANAGER=1 for viem's nonce manager, without which concurrent settles clash.
 */
const { PORT = '0', RPC_URL = '', KEY = '0x', NONCE_MANAGER } = process.env

const chain = defineChain({
  id: 5042,
  name: 'bench',
  nativeCurrency: { name: 'USDC', symbol: 'USDC', decimals: 18 },
  rpcUrls: { default: { http: [RPC_URL] } },
})
const account = privateKeyToAccount(
  KEY as Hex,
  NONCE_MANAGER === '1' ? { nonceManager } : undefined,
)
const client = createWalletClient({ account, chain, transport: http(RPC_URL) }).extend(
  publicActions,
)
// The adapter's parameter is a looser picture of this very client.
const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
const facilitator = new x402Facilitator()
  .register('eip155:5042', new ExactEvmScheme(signer))
  .register('eip155:5042', new UptoEvmScheme(signer))

const app = express()
app.use(express.json())
app.get('/health', (_request, response) => {
  response.json({ status: 'ok' })
})
for (const verb of ['verify', 'settle'] as const) {
  app.post(`/${verb}`, async (request, response) => {
    const { paymentPayload, paymentRequirements } = request.body
    try {
      response.json(await facilitator[verb](paymentPayload, paymentRequirements))
    } catch (error) {
      response.status(500).json({ error: String(error).slice(0, 200) })
    }
  })
}
app.listen(Number(PORT), '127.0.0.1')
// A check of the scheme that rejects after its answer is out would end the process.
process.on('unhandledRejection', () => {})
