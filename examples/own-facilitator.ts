/**
 * A Fastify server of your own with a facilitator inside. It verifies and settles payments under `/x402`, next to your
 * routes, and keeps them in a SQLite file. There is no directory and no console.
 *
 * With `npm run dev` in another terminal, whose chain it uses:
 *
 *   npx tsx examples/own-facilitator.ts
 *   FACILITATOR_URL=http://localhost:4030/x402 npx tsx examples/fastify-merchant.ts
 *   npx tsx examples/buyer.ts "http://localhost:4023/weather?city=Lisbon"
 *
 * RPC_URL, RELAYER_KEY, DATABASE and PORT set the node, the key of the wallet that pays the gas, the file and the port.
 */
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import fastify from 'fastify'
import type { Hex } from 'viem'
import { createFacilitator } from '../src/facilitator/facilitator.js'
import { openFacilitatorStores } from '../src/facilitator/journal/sqlite/stores.js'
import { createLocalSigner } from '../src/facilitator/relayer/signer.js'
import { facilitatorDefaults } from '../src/facilitator/settings.js'

const port = Number(process.env.PORT ?? 4030)
const baseUrl = `http://localhost:${port}/x402`
const usdc = '0x3600000000000000000000000000000000000000'
// The eighth account of the devnet's public mnemonic. Set a key of your own: its wallet pays the gas.
const devnetKey = '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356'

const app = fastify({ logger: { level: 'warn' } })
const keccak256 = await createKeccak256()
const key = (process.env.RELAYER_KEY ?? devnetKey) as Hex

const database = await openFacilitatorStores(process.env.DATABASE ?? './payments.db', app.log)
const facilitator = await createFacilitator(
  {
    ...facilitatorDefaults,
    baseUrl,
    networks: [
      {
        network: 'eip155:5042',
        chainId: 5042,
        rpcUrls: [process.env.RPC_URL ?? 'http://127.0.0.1:8545'],
        assets: [usdc],
      },
    ],
  },
  { ...database, keccak256, signers: [createLocalSigner(key, keccak256)], log: app.log },
)

await app.register(facilitator.plugin, { prefix: '/x402' })
app.get('/', async () => ({ hello: 'from a server that settles its own payments' }))
app.addHook('onClose', async () => {
  await facilitator.stop()
  await database.close()
})

await facilitator.start()
await app.listen({ host: '127.0.0.1', port })
process.stdout.write(`Settling at ${baseUrl}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => app.close())
