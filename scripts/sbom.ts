import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * The bill of materials of a layout. `node scripts/sbom.ts FOLDER ROOT` writes that of an image: ROOT is the root of the
 * image, and FOLDER the layout in it.
 *
 * `npm sbom --omit dev` leaves out every package that a package of development needs as well, such as viem, and knows
 * nothing of what is bundled or of Debian. So the parts are read from where they are: the lockfile that npm keeps inside
 * `node_modules`, the licenses that Vite writes of its bundles, and the status of dpkg.
 */

/** A component of CycloneDX 1.5. */
export interface Component {
  type: 'library' | 'application' | 'platform'
  'bom-ref': string
  name: string
  version: string
  purl?: string
  licenses?: ({ license: { id: string } | { name: string } } | { expression: string })[]
  hashes?: { alg: 'SHA-512'; content: string }[]
}

interface LockedPackage {
  version?: string
  license?: string
  integrity?: string
  link?: boolean
}

/** Returns the packages of a lockfile. Links lead to packages that are listed where they are. */
export function componentsOfLock(packages: Readonly<Record<string, LockedPackage>>): Component[] {
  return Object.entries(packages).flatMap(([path, { version, license, integrity, link }]) => {
    const name = path.split('node_modules/').at(-1)
    if (!name || !path.includes('node_modules/') || link || version === undefined) return []
    const digest = /^sha512-(\S+)/.exec(integrity ?? '')?.[1]
    const content = digest && Buffer.from(digest, 'base64').toString('hex')
    return [
      {
        ...npmComponent(name, version, license),
        ...(content && { hashes: [{ alg: 'SHA-512' as const, content }] }),
      },
    ]
  })
}

/** Returns the packages of a list of licenses that Vite wrote next to a bundle. */
export function componentsOfLicenses(text: string): Component[] {
  return [...text.matchAll(/^## (\S+) - (\S+) \((.+)\)$/gm)].map(([, name, version, license]) =>
    npmComponent(name as string, version as string, license),
  )
}

function npmComponent(name: string, version: string, license?: string): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license && { licenses: [licenseOf(license)] }),
  }
}

/** A term with an operator is an expression of SPDX; names of another kind are no identifiers. */
function licenseOf(text: string): NonNullable<Component['licenses']>[number] {
  if (/ (AND|OR|WITH) /.test(text)) return { expression: text }
  return { license: /^[\w.+-]+$/.test(text) ? { id: text } : { name: text } }
}

/** Returns the packages of Debian that are installed, by the status file of dpkg. */
export function componentsOfDpkg(status: string): Component[] {
  return status.split('\n\n').flatMap((paragraph) => {
    const field = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(paragraph)?.[1]
    const [name, version, architecture] = [
      field('Package'),
      field('Version'),
      field('Architecture'),
    ]
    if (name === undefined || version === undefined) return []
    if (field('Status') !== 'install ok installed') return []
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`
    return [{ type: 'library' as const, 'bom-ref': purl, name, version, purl }]
  })
}

/** Returns the document. It has no time and no serial number, so that the same image has the same one. */
export function billOfMaterials(
  { name, version, license }: { name: string; version: string; license: string },
  components: readonly Component[],
) {
  const unique = new Map(
    // A package that is both bundled and installed stands here once, with its digest.
    [...components]
      .sort((a, b) => (a.hashes === undefined ? 0 : 1) - (b.hashes === undefined ? 0 : 1))
      .map((component) => [component['bom-ref'], component]),
  )
  const subject: Component = {
    type: 'application',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    licenses: [licenseOf(license)],
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: subject },
    components: [...unique.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  }
}

/** Reads the bill of a layout, and of the system around it if the root of an image is given. */
export function readBill(folder: string, root?: string) {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  return billOfMaterials(JSON.parse(read('package.json')), [
    ...(root === undefined ? [] : [nodeOfThisProcess(), ...componentsOfDpkg(statusOf(root))]),
    ...componentsOfLock(JSON.parse(read('node_modules/.package-lock.json')).packages),
    ...componentsOfLicenses(read('licenses.md')),
  ])
}

function nodeOfThisProcess(): Component {
  const { node: version } = process.versions
  const purl = `pkg:generic/node@${version}`
  return { type: 'platform', 'bom-ref': purl, name: 'node', version, purl }
}

/** An image need not be of Debian. */
function statusOf(root: string): string {
  const file = join(root, 'var/lib/dpkg/status')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

const [, script, folder, root] = process.argv
if (script?.endsWith('sbom.ts') && folder !== undefined) {
  process.stdout.write(`${JSON.stringify(readBill(folder, root), undefined, 1)}\n`)
}
