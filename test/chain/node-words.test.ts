import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { reasons } from '@arcus/protocol/x402/reasons'
import { type Address, encodeErrorResult, type Hex, parseAbi, size } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const wallet: Address = '0x000000000000000000000000000000000000a11e'
/** ERC-1271 that accepts every signature. */
const sayingYes = '0x631626ba7e60e01b5f5260205ff3'

interface RpcCall {
  method: string
  // biome-ignore lint/suspicious/noExplicitAny: parameters of any method
  params: any[]
}

interface RpcError {
  code: number
  message: string
  data?: unknown
}

/** The ways in which the two nodes before the one chain change the answer to a call. */
type Rephrase = (error: RpcError | undefined, call: RpcCall) => RpcError | undefined
const asItIs: Rephrase = (error) => error
let rephrase = asItIs
let nodes: Server[]
let asked = [0, 0]
let world: World

beforeAll(async () => {
  world = await startWorld({
    between: async (chainUrl) => {
      nodes = [0, 1].map((index) => aNodeBefore(chainUrl, index))
      for (const node of nodes) {
        await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
      }
      return nodes
        .map((node) => `http://127.0.0.1:${(node.address() as AddressInfo).port}`)
        .join(',')
    },
  })
  await mintUsdc(world.chainUrl, wallet, 1_000_000n)
})
beforeEach(() => {
  asked = [0, 0]
  rephrase = asItIs
})
afterAll(async () => {
  await world.stop()
  for (const node of nodes) {
    node.closeAllConnections()
    node.close()
  }
})

function aNodeBefore(chainUrl: string, index: number): Server {
  return createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(chainUrl, { method: 'POST', headers, body })
    const calls = [JSON.parse(body.toString())].flat()
    const items = [(await answer.json()) as { id: number; error?: RpcError }].flat()
    const told = items.map((item, i) => {
      if (calls[i].method === 'eth_call') asked[index] = (asked[index] ?? 0) + 1
      const error = rephrase(item.error, calls[i])
      return error === undefined ? item : { jsonrpc: '2.0', id: item.id, error }
    })
    response.end(JSON.stringify(told.length === 1 ? told[0] : told))
  })
}

/** Code that reverts with `Error(text)` whatever it is asked. */
function revertingWith(text: string): Hex {
  const abi = parseAbi(['error Error(string message)'])
  const data = encodeErrorResult({ abi, errorName: 'Error', args: [text] })
  const length = size(data).toString(16).padStart(4, '0')
  return `0x61${length}600e5f3961${length}5ffd00${data.slice(2)}`
}

async function expectRefusedBySignature(): Promise<void> {
  const payment = await aSignedPayment({ from: wallet })
  const startedAt = Date.now()
  const answers = [await world.post('/verify', payment), await world.post('/settle', payment)]
  const code = reasons.signature.code
  expect(answers).toMatchObject([
    { status: 200, body: { isValid: false, invalidReason: code } },
    { status: 200, body: { success: false, errorReason: code, transaction: '' } },
  ])
  // A node that is taken for sick is asked last: the other one would be asked.
  const honest = await world.post('/verify', await aSignedPayment())
  expect(honest.body).toMatchObject({ isValid: true })
  expect(asked[1]).toBe(0)
  expect(Date.now() - startedAt).toBeLessThan(2_500)
}

describe('a wallet that reverts is refused, and no node is taken for sick, whatever it says', () => {
  const words = ['rate limit', 'header not found', 'nonce too low']

  it.each(words)('"%s"', async (text) => {
    await call(world.chainUrl, 'anvil_setCode', [wallet, revertingWith(text)])
    await expectRefusedBySignature()
  })

  it.each([
    ['burns its gas', '0x5b5f56'],
    ['runs into an invalid opcode', '0xfe'],
    ['runs out of its stack', '0x50'],
    ['jumps into nowhere', '0x600056'],
    ['reads past its answer', '0x60205f5f3e'],
    ['reverts without a word', '0x5f5ffd'],
  ])('when it %s', async (_, code) => {
    await call(world.chainUrl, 'anvil_setCode', [wallet, code])
    await expectRefusedBySignature()
  })
})

describe('what no node can run is no word of the wallet', () => {
  it.each(['missing trie node', 'internal error', 'resource not available'])(
    'asked about its signature: "%s"',
    async (message) => {
      await call(world.chainUrl, 'anvil_setCode', [wallet, sayingYes])
      rephrase = (error, call) => (asks(call, wallet) ? { code: -32000, message } : error)
      await expectUnread()
    },
  )

  it('when its transfer is simulated', async () => {
    await call(world.chainUrl, 'anvil_setCode', [wallet, sayingYes])
    const payment = await aSignedPayment({ from: wallet })
    const { asset } = payment.paymentRequirements
    rephrase = (error, call) =>
      asks(call, asset) ? { code: -32000, message: 'missing trie node' } : error
    await expectUnread()
  })
})

function asks({ method, params }: RpcCall, to: unknown): boolean {
  return method === 'eth_call' && String(params[0].to).toLowerCase() === String(to).toLowerCase()
}

async function expectUnread(): Promise<void> {
  const payment = await aSignedPayment({ from: wallet })
  const answers = [await world.post('/verify', payment), await world.post('/settle', payment)]
  const text = expect.stringContaining('The chain could not be read')
  expect(answers).toMatchObject([
    {
      status: 500,
      body: { invalidReason: reasons.unexpectedVerifyError.code, invalidMessage: text },
    },
    {
      status: 500,
      body: {
        errorReason: reasons.unexpectedSettleError.code,
        errorMessage: text,
        transaction: '',
      },
    },
  ])
  rephrase = asItIs
  expect((await world.post('/verify', payment)).body).toMatchObject({ isValid: true })
}
