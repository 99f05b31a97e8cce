// Every version of Node can read this file, so that an unfit one is answered with a sentence.
const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')
const { engines } = require('../package.json')

/** A layout has this file: its compiled parts load in one major version of Node on one platform. */
const builtFor = join(__dirname, '../node_modules/.built-for.json')

const { node } = process.versions
const problem = problemOfVersion() || problemOfBuild()
if (problem) {
  process.stderr.write(`${problem}: https://nodejs.org/en/download shows how to install one.\n`)
  process.exit(1)
}

function problemOfVersion() {
  const [wanted] = /\d+\.\d+/.exec(engines.node)
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number)
  const [major, minor] = node.split('.').map(Number)
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return undefined
  return `Arcus needs Node ${wanted} or newer, and this is Node ${node}`
}

function problemOfBuild() {
  if (!existsSync(builtFor)) return undefined
  const built = JSON.parse(readFileSync(builtFor, 'utf8'))
  const { platform, arch } = process
  if (built.major === node.split('.')[0] && built.platform === `${platform}-${arch}`)
    return undefined
  return `This build of Arcus is for Node ${built.major} on ${built.platform}, and this is Node ${node} on ${platform}-${arch}`
}
