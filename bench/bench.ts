/**
 * `npm run bench -- NAME …` runs a bench that stands alone, by the name of its file: `memory`, `journal`, `growth` and so
 * on. Without such a name it is `run.ts`, the comparison with the official packages. Most need `npm run build` first.
 */
const alone = [
  'added',
  'attestation',
  'beside',
  'catalog',
  'channels',
  'discovery',
  'growth',
  'journal',
  'memory',
  'postgres',
  'replicas',
  'search-ways',
  'settle-storm',
  'storm',
  'tracing',
  'waits',
  'write-lock',
]

const name = process.argv[2] ?? ''
const isAlone = alone.includes(name)
// The bench reads its own arguments after the name of the program.
if (isAlone) process.argv.splice(2, 1)
await import(isAlone ? `./${name}.ts` : './run.ts')

export {}
