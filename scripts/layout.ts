import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CONSOLE_FOLDER } from '../src/http/console-folder.js'
import { external } from './bundle.js'
import { readBill } from './sbom.js'

/*
 * npm run layout -- FOLDER
 *
 * Writes what runs in production into an empty folder. Everything that is shipped is this folder: the image, the tarballs,
 * the package `@arcus/server` and what systemd starts. The revision is that of the checkout, or of REVISION. Compiled parts
 * are those of this machine, so it runs with the same major version of Node on the same platform.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')

interface Manifest {
  version: string
  dependencies: Record<string, string>
  [field: string]: unknown
}

/** The packages that npm installed, by their path. */
type Installed = Record<string, { version?: string; dependencies?: Record<string, string> }>

/** These packages only find or build the compiled parts of others. */
const INSTALLERS = ['prebuild-install', 'node-addon-api']

/** Writes the layout. Throws where the build is missing or the folder holds anything. */
export function writeLayout(folder: string): void {
  if (!existsSync(join(root, CONSOLE_FOLDER, 'index.html'))) {
    throw new Error('There is no build: run `npm run build` first.')
  }
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty.`)
  const copied = ['bin', 'migrations', 'LICENSE', '.env.example']
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  chmodSync(join(folder, 'bin/arcus'), 0o755)
  cpSync(join(root, 'deploy/systemd'), join(folder, 'systemd'), { recursive: true })
  copyFileSync(join(root, 'deploy/README.md'), join(folder, 'README.md'))
  cpSync(join(root, 'dist'), join(folder, 'dist'), {
    recursive: true,
    // The licences stand in one file at the top.
    filter: (path) => !path.endsWith('.map') && basename(path) !== 'licenses.md',
  })
  const manifest: Manifest = JSON.parse(read('package.json'))
  const paths = copyPackages(folder)
  writeJson(join(folder, 'package.json'), manifestOf(manifest))
  writeFileSync(join(folder, 'licenses.md'), licensesOf(paths))
  writeJson(join(folder, 'sbom.cdx.json'), readBill(folder))
}

/** The manifest of `@arcus/server`: npm installs the packages that are not bundled. */
function manifestOf({ version, description, license, engines, dependencies, keywords }: Manifest) {
  return {
    name: '@arcus/server',
    version,
    description,
    license,
    type: 'module',
    engines,
    keywords,
    bin: { arcus: 'bin/arcus' },
    files: ['bin', 'dist', 'migrations', 'licenses.md', 'sbom.cdx.json', 'systemd', '.env.example'],
    publishConfig: { access: 'public', provenance: true },
    dependencies: Object.fromEntries(external.map((name) => [name, dependencies[name]])),
    gitHead: process.env.REVISION || revisionOfCheckout(),
  }
}

function revisionOfCheckout(): string | undefined {
  try {
    const said = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return said.trim()
  } catch {
    // A context of Docker has no history.
    return undefined
  }
}

/** Copies the packages that are not bundled, with all that they need. Returns their paths. */
function copyPackages(folder: string): string[] {
  const { packages, ...lock } = JSON.parse(read('node_modules/.package-lock.json')) as {
    packages: Installed
  }
  const paths = closureOf(external, packages)
  for (const path of paths) copyPackage(path, folder)
  const kept = Object.fromEntries(paths.map((path) => [path, packages[path]]))
  writeJson(join(folder, 'node_modules/.package-lock.json'), { ...lock, packages: kept })
  // `bin/check-node.js` reads it. The package of npm is without: there the compiled parts are made for whoever installs it.
  const [major] = process.versions.node.split('.')
  writeJson(join(folder, 'node_modules/.built-for.json'), { major, platform: PLATFORM })
  return paths
}

/** Returns the paths of packages and of all that they need. Optional ones are for platforms that are not served. */
export function closureOf(names: readonly string[], packages: Installed): string[] {
  const found = new Set<string>()
  const visit = (name: string, user: string) => {
    const path = placeOf(name, user, packages)
    if (found.has(path)) return
    found.add(path)
    for (const needed of Object.keys(packages[path]?.dependencies ?? {})) {
      if (!INSTALLERS.includes(needed)) visit(needed, path)
    }
  }
  for (const name of names) visit(name, '')
  return [...found].sort()
}

/** Finds the package that Node loads for a name: the one nearest to its user. */
function placeOf(name: string, user: string, packages: Installed): string {
  const above = user === '' ? [] : user.split('/node_modules/')
  for (let depth = above.length; depth >= 0; depth--) {
    const folders = above.slice(0, depth).map((folder) => `${folder}/node_modules`)
    const path = `${folders.join('/') || 'node_modules'}/${name}`
    if (Object.hasOwn(packages, path)) return path
  }
  throw new Error(`${name} is not installed: run \`npm ci\`.`)
}

/** Copies a package without its sources, maps and the parts for other platforms. */
function copyPackage(path: string, folder: string): void {
  const from = join(root, path)
  const isCompiled = existsSync(join(from, 'binding.gyp'))
  cpSync(from, join(folder, path), {
    recursive: true,
    filter(source) {
      const inside = relative(from, source).split(sep).join('/')
      if (/(^|\/)(node_modules|test|docs|\.github)$/.test(inside)) return false
      if (/\.(map|ts|mts|cts|md)$/.test(inside)) return /licen[cs]e/i.test(inside)
      return !isCompiled || isCompiledPart(inside)
    },
  })
}

const PLATFORM = `${process.platform}-${process.arch}`

/** Whether a file of a package with compiled parts is needed to load it. */
function isCompiledPart(path: string): boolean {
  if (/^(src|deps|binding\.gyp)$/.test(path)) return false
  if (path.startsWith('prebuilds/')) return path.startsWith(`prebuilds/${PLATFORM}`)
  if (!path.startsWith('build/')) return true
  return path === 'build/Release' || /^build\/Release\/(?!test_)[\w-]+\.node$/.test(path)
}

/** Joins the licences of what is bundled and of what is installed, in the form of Vite. */
function licensesOf(paths: readonly string[]): string {
  const consoles = join(CONSOLE_FOLDER, 'legal/licenses.md')
  const bundled = ['dist/licenses.md', consoles].map((path) => read(path))
  const installed = paths.map((path) => {
    const { name, version, license } = JSON.parse(read(path, 'package.json'))
    const file = readdirSync(join(root, path)).find((it) => /^licen[cs]e/i.test(it))
    const text = file === undefined ? '' : `\n\n${read(path, file).trim()}`
    return `## ${name} - ${version} (${license})${text}\n`
  })
  return [...bundled, '# Licenses of installed packages\n', ...installed].join('\n')
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) {
    process.stderr.write('Name a folder: npm run layout -- FOLDER\n')
    process.exit(2)
  }
  writeLayout(folder)
  process.stdout.write(`${folder} holds what runs in production: bin/arcus --help\n`)
}
