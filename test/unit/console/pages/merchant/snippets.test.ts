import { execFileSync } from 'node:child_process'
import ts from 'typescript'
import { expect, it } from 'vitest'
import {
  curlSnippet,
  exampleUrl,
  fetchSnippet,
  toolPaySnippet,
} from '../../../../../src/console/pages/merchant/snippets.js'

const token = {
  address: '0x36',
  symbol: 'USDC',
  currency: 'USD',
  decimals: 6,
  name: 'USDC',
  version: '2',
  minAmount: '1',
} as const

const network = {
  network: 'eip155:5042',
  chainId: 5042,
  name: 'Arc',
  listed: true,
  nativeCurrency: { name: 'USDC', symbol: 'USDC', decimals: 18 },
  walletRpcUrls: [],
  explorerUrl: null,
  asset: token,
  assets: [token],
}

const post = {
  url: "https://api.example.com/it's?a=$(touch%20x)`id`",
  method: 'POST',
  price: '10000',
  asset: '0xbEf5f6d51CB62b58e6A8f77868681825C6fe21c1',
  state: { symbol: 'EURC' },
  pricing: 'fixed',
  example: { body: { text: "'; rm -rf / #", more: '$HOME `id`' } },
} as const

it('puts the example parameters of a GET into its URL', () => {
  const example = { queryParams: { city: 'São Paulo', day: [1, 2] } }
  const url = exampleUrl({ ...post, url: 'https://api.example.com/x', method: 'GET', example })
  expect(url).toBe('https://api.example.com/x?city=S%C3%A3o+Paulo&day=1&day=2')
})

it('quotes the texts of a listing for a shell', () => {
  const command = curlSnippet(post).replace('curl -i', 'printf "%s\\n"')
  const lines = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).split('\n')
  expect(lines[0]).toBe(post.url)
  expect(JSON.parse(lines[4] as string)).toEqual(post.example.body)
})

it('gives TypeScript that parses, with the texts of a listing in strings only', () => {
  const code = fetchSnippet(post, network)
  const call = /const response = await ([\s\S]*)\nconst answer/.exec(code)?.[1] as string
  const args = new Function('pay', `return ${call}`)((...all: unknown[]) => all)
  expect(args[0]).toBe(post.url)
  expect(JSON.parse(args[1].body)).toEqual(post.example.body)
})

it('pays in the token of the price, and in no other', () => {
  const code = fetchSnippet(post, network)
  expect(code).toContain(`asset: '${post.asset}'`)
  expect(code).toContain('Needs EURC on eip155:5042')
  expect(code).toContain('listed at 0.01 EURC')
  expect(code).not.toContain('USDC')
})

it('pays a metered price by upto, and a tool over MCP, in code that parses', () => {
  const metered = fetchSnippet({ ...post, pricing: 'metered' }, network)
  expect(metered).toContain("{ network: 'eip155:5042', client: new UptoEvmScheme(account) }")
  expect(metered).toContain('listed at at most 0.01 EURC')
  const example = { arguments: { port: "Faro'`$x" } }
  const tool = { ...post, method: 'MCP', toolName: 'tides', example } as const
  const node = "http://127.0.0.1:8545/it's"
  const code = toolPaySnippet(tool, { ...network, walletRpcUrls: [node] })
  expect(code).toContain("new ExactEvmScheme(account, { rpcUrl: 'http://127.0.0.1:8545/it\\'s' })")
  expect(code).toContain("maxAmountPerPayment: '10000'")
  for (const text of [metered, code]) {
    expect(ts.transpileModule(text, { reportDiagnostics: true }).diagnostics).toEqual([])
  }
  const call = /const call = ([\s\S]*)\nconst asked/.exec(code)?.[1] as string
  expect(JSON.parse(call)).toEqual({ name: 'tides', ...example })
})
