import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { root } from './source-files.js'

/** The TypeScript of each document, by a path beside it at which it is compiled. */
function snippets(): Map<string, string> {
  const pages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)
  const docs = readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)
  const documents = ['README.md', ...docs, ...pages]
  const found = documents
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => {
      const blocks = readFileSync(join(root, name), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)
      return [...blocks].map(([, code = ''], i) => [join(root, `${name}.${i}.ts`), code] as const)
    })
  return new Map(found)
}

/** Everything that shows or is a buyer's client, but for tests. */
function buyerCode(): [path: string, text: string][] {
  const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  const code = ['src', 'packages', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `${folder}/${name}`),
  )
  return [...documents.filter((name) => name.endsWith('.md')), ...code].map((path) => [
    path,
    readFileSync(join(root, path), 'utf8'),
  ])
}

it('every buyer’s client that is shown has a limit for each payment', () => {
  const clients = buyerCode().filter(([, text]) => /x402Client\b/.test(text))
  const paths = clients.map(([path]) => path)
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'docs/schemes.md']))
  expect(paths).toContain('src/console/pages/merchant/snippets.ts')
  const faults = clients.flatMap(([path, text]) => {
    const allowed = [...text.matchAll(/allowedAssets:\s*\[([\s\S]*?)\]/g)]
    const made = text.match(/x402Client\.fromConfig\(|new x402Client\(/g)?.length ?? 0
    const capped = allowed.filter(([, entries = '']) => /\bmaxAmountPerPayment\b/.test(entries))
    const isOpen = /spendControls: false|maxAmountPerPayment: false|allowedAssets: true/.test(text)
    return capped.length === allowed.length && capped.length >= made && !isOpen ? [] : [path]
  })
  expect(faults).toEqual([])
})

it('every snippet of the documents compiles by itself, in a strict project', () => {
  const texts = snippets()
  expect(texts.size).toBeGreaterThan(6)
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    moduleDetection: ts.ModuleDetectionKind.Force,
    types: ['node'],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    paths: {
      '@arcus/protocol/*': [join(root, 'packages/protocol/src/*.ts')],
      '@arcus/client': [join(root, 'packages/client/src/client.ts')],
      '@arcus/client/*': [join(root, 'packages/client/src/*.ts')],
      '@arcus/merchant': [join(root, 'packages/merchant/src/x402.ts')],
      '@arcus/merchant/*': [join(root, 'packages/merchant/src/*.ts')],
    },
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.readFile = (path) => texts.get(path) ?? readFile(path)
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path)
    if (text === undefined) return getSourceFile(path, version, ...rest)
    return ts.createSourceFile(path, text, version)
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  // The sources that they import are checked by themselves.
  const files = program.getSourceFiles().filter(({ fileName }) => texts.has(fileName))
  expect(files).toHaveLength(texts.size)
  const faults = files
    .flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ])
    .map(({ file, start = 0, messageText }) => {
      const { line = 0 } = file?.getLineAndCharacterOfPosition(start) ?? {}
      const text = ts.flattenDiagnosticMessageText(messageText, ' ')
      return `${file?.fileName.slice(root.length)}:${line + 1} ${text}`
    })
  expect(faults).toEqual([])
}, 120_000)
