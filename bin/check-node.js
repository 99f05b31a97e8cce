// Every version of Node can read this file, so that an old one is answered with a sentence.
const { engines } = require('../package.json')

const [wanted] = /\d+\.\d+/.exec(engines.node)
const [wantedMajor, wantedMinor] = wanted.split('.').map(Number)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  process.stderr.write(
    `Arcus needs Node ${wanted} or newer, and this is Node ${process.versions.node}: https://nodejs.org/en/download shows how to install one.\n`,
  )
  process.exit(1)
}
