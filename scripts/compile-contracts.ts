import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

// Compiles contracts/ with npm's solc to contracts/artifacts and the module in src/chain that holds creation code.
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
const codeModule = 'src/chain/creation-code.ts'
/** The contracts whose creation code the service itself needs, each a constant of the module. */
const constants: Record<string, { constant: string; about: string }> = {
  PaymentFacts: {
    constant: 'paymentFactsCode',
    about: 'Returns the facts of the payments that are appended to it.',
  },
  RelayerMulticall: {
    constant: 'relayerMulticallCode',
    about: 'Creates the contract; the array of its relayers is appended.',
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

/** Returns the text of the module with these contracts, by name. */
function moduleOf(contracts: ReadonlyMap<string, Contract>): string {
  const written = Object.entries(constants).map(([name, { constant, about }]) => {
    const code = contracts.get(name)?.evm.bytecode.object ?? ''
    return `\n/** ${about} */\nexport const ${constant}: Hex =\n  '0x${code}'\n`
  })
  const head = '// Written by scripts/compile-contracts.ts from contracts/; do not edit.'
  return `${head}\nimport type { Hex } from 'viem'\n${written.join('')}`
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
  }
  files.set(codeModule, moduleOf(new Map(contracts)))
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
