import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

// Compiles contracts/ with npm's solc to contracts/artifacts and the modules in src/chain that hold creation code.
// With --check it writes nothing, and fails when the existing files differ from the compiled sources.

type Contract = {
  abi?: unknown[]
  evm: { bytecode: { object: string }; deployedBytecode?: { object: string } }
}
type Output = {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, Contract>>
}
type Solc = { compile(input: string): string }

const solc: Solc = createRequire(import.meta.url)('solc')
const root = fileURLToPath(new URL('..', import.meta.url))
const artifactsFolder = 'contracts/artifacts'
/** The contracts whose creation code the service itself needs. */
const modules: Record<string, { path: string; source: string; constant: string; about: string }> = {
  PaymentFacts: {
    path: 'src/chain/payment-facts-bytecode.ts',
    source: 'PaymentFacts.yul',
    constant: 'paymentFactsCode',
    about: 'Creation code that returns the facts of the payments appended to it.',
  },
  RelayerMulticall: {
    path: 'src/chain/relayer-multicall-bytecode.ts',
    source: 'RelayerMulticall.sol',
    constant: 'relayerMulticallCode',
    about: 'Creation code of the contract, without the array of relayers that is appended to it.',
  },
}

const settings = {
  evmVersion: 'cancun',
  viaIR: true,
  optimizer: { enabled: true, runs: 10_000 },
  // Without a hash of the sources, the bytes depend only on the code itself.
  metadata: { bytecodeHash: 'none', appendCBOR: false },
}

function sources(extension: string): Record<string, { content: string }> {
  const paths = readdirSync(`${root}/contracts`, { recursive: true, encoding: 'utf8' })
  const named = paths.filter((path) => path.endsWith(extension)).sort()
  return Object.fromEntries(
    named.map((path) => [path, { content: readFileSync(`${root}/contracts/${path}`, 'utf8') }]),
  )
}

function compile(language: string, input: object, ownSettings: object): [string, Contract][] {
  const request = { language, sources: input, settings: ownSettings }
  const output = JSON.parse(solc.compile(JSON.stringify(request))) as Output
  const complaints = (output.errors ?? []).filter(({ severity }) => severity !== 'info')
  if (complaints.length > 0) {
    throw new Error(complaints.map(({ formattedMessage }) => formattedMessage).join('\n'))
  }
  return Object.values(output.contracts ?? {}).flatMap((file) => Object.entries(file))
}

function artifact(contractName: string, { abi = [], evm }: Contract): string {
  const bytecode = `0x${evm.bytecode.object}`
  const deployedBytecode = `0x${evm.deployedBytecode?.object ?? ''}`
  return `${JSON.stringify({ contractName, abi, bytecode, deployedBytecode }, null, 2)}\n`
}

function moduleOf({ source, constant, about }: (typeof modules)[string], code: string): string {
  return `// Written by scripts/compile-contracts.ts from contracts/${source}; do not edit.
import type { Hex } from 'viem'

/** ${about} */
export const ${constant}: Hex =
  '0x${code}'
`
}

/** Returns the text of each generated file, by its path in the repository. */
function generate(): Map<string, string> {
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode', 'evm.deployedBytecode'] } }
  const { viaIR: _, ...yulSettings } = settings
  const contracts = [
    ...compile('Solidity', sources('.sol'), { ...settings, outputSelection }),
    ...Object.entries(sources('.yul')).flatMap((source) =>
      compile('Yul', Object.fromEntries([source]), { ...yulSettings, outputSelection }),
    ),
  ]
  const files = new Map<string, string>()
  for (const [name, contract] of contracts) {
    // A library without external functions is compiled into its users, and an interface has no code.
    if (contract.abi?.length === 0 || contract.evm.bytecode.object === '') continue
    files.set(`${artifactsFolder}/${name}.json`, artifact(name, contract))
    const module = modules[name]
    if (module) files.set(module.path, moduleOf(module, contract.evm.bytecode.object))
  }
  return files
}

function artifactPaths(): string[] {
  mkdirSync(`${root}/${artifactsFolder}`, { recursive: true })
  return readdirSync(`${root}/${artifactsFolder}`).map((name) => `${artifactsFolder}/${name}`)
}

function current(path: string): string | undefined {
  try {
    return readFileSync(`${root}/${path}`, 'utf8')
  } catch {
    return undefined
  }
}

const files = generate()
const stale = artifactPaths().filter((path) => !files.has(path))
const changed = [...files].filter(([path, text]) => current(path) !== text).map(([path]) => path)

if (process.argv.includes('--check')) {
  const differing = [...changed, ...stale]
  if (differing.length > 0) {
    process.stderr.write(
      `Compiled contracts differ from their sources (${differing.join(', ')}): run \`npm run contracts\` and commit the result.\n`,
    )
    process.exitCode = 1
  }
} else {
  for (const path of stale) rmSync(`${root}/${path}`)
  for (const path of changed) writeFileSync(`${root}/${path}`, files.get(path) ?? '')
  process.stdout.write(
    `${files.size} files up to date, ${changed.length + stale.length} of them changed.\n`,
  )
}
