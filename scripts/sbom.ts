import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/*
 * Writes the bill of materials of an image: `node scripts/sbom.ts ROOT [FOLDER]`. ROOT is the root of the image, and the
 * working directory has `package.json`, `node_modules` and `dist`.
 *
 * `npm sbom --omit dev` leaves out every package that a package of development needs as well, such as viem, and knows
 * nothing of what is bundled or of Debian. So the parts are read from where they are: the lockfile that npm keeps inside
 * `node_modules`, the licenses that Vite writes next to its bundles, and the status of dpkg.
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

/** Reads an image. Throws where a list is missing: an image without one is not known. */
function readImage(root: string, folder: string) {
  const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8')
  const dpkg = join(root, 'var/lib/dpkg/status')
  const node: Component = {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${process.versions.node}`,
    name: 'node',
    version: process.versions.node,
    purl: `pkg:generic/node@${process.versions.node}`,
  }
  const bundled = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => basename(path) === 'licenses.md',
  )
  // One of the service and one of the console.
  if (bundled.length < 2) throw new Error(`${bundled.length} of 2 lists of licenses are in dist`)
  return billOfMaterials(JSON.parse(read('package.json')), [
    node,
    ...componentsOfLock(JSON.parse(read('node_modules', '.package-lock.json')).packages),
    ...bundled.flatMap((path) => componentsOfLicenses(read('dist', path))),
    ...(existsSync(dpkg) ? componentsOfDpkg(readFileSync(dpkg, 'utf8')) : []),
  ])
}

const [, script, root, folder = '.'] = process.argv
if (script?.endsWith('sbom.ts') && root !== undefined) {
  process.stdout.write(`${JSON.stringify(readImage(root, folder), undefined, 1)}\n`)
}
