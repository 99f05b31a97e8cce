import { type Command, parseArguments, print, UsageError } from '../command-line.js'
import { type OperatorStores, withStores } from './operator-stores.js'

/** Writes to the terminal, or to the program that reads the output. */
type Write = (text: string) => Promise<void>

type Values = ReturnType<typeof readArguments>['values']

/** A decision or a question of the operator, by its name: `hide ID --reason "why"`. */
export interface Subcommand {
  /** The least and the largest number of arguments. */
  min: number
  max: number
  flags: readonly string[]
  run(stores: OperatorStores, args: string[], values: Values, write: Write): Promise<void>
}

/** Makes a verb of `arcus` of its subcommands, which work on the database of the settings. */
export function defineSubcommands(help: string, known: Record<string, Subcommand>): Command {
  return async (args) => {
    const act = readSubcommand(known, args)
    return act === 'help' ? print(help) : withStores((stores) => act(stores, writeOut))
  }
}

/** Reads a command line. Returns `help` for `--help` and for an empty line. Throws a `UsageError`. */
export function readSubcommand(commands: Record<string, Subcommand>, args: string[]) {
  const { positionals, values } = readArguments(args)
  const [name, ...rest] = positionals
  if (values.help === true || name === undefined) return 'help'
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (known === undefined) {
    throw new UsageError(`There is no command ${JSON.stringify(name)}; try --help.`)
  }
  const { min, max, flags } = known
  if (rest.length < min || rest.length > max) {
    const wanted = min === max ? `${min}` : `${min} or ${max}`
    const noun = max === 1 ? 'argument' : 'arguments'
    throw new UsageError(`${name} wants ${wanted} ${noun}, got ${rest.length}; try --help.`)
  }
  const stray = Object.keys(values).find((flag) => !flags.includes(flag))
  if (stray !== undefined) throw new UsageError(`${name} knows no --${stray}; try --help.`)
  return (stores: OperatorStores, write: Write) => known.run(stores, rest, values, write)
}

function readArguments(args: string[]) {
  return parseArguments({
    args,
    allowPositionals: true,
    options: {
      reason: { type: 'string' },
      limit: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
}

/** Makes a command that writes one answer when it is done. */
export function answering(
  count: number,
  act: (stores: OperatorStores, args: string[], values: Values) => Promise<string>,
  flags: readonly string[] = [],
): Subcommand {
  return writing(
    count,
    async function* (...given) {
      yield await act(...given)
    },
    flags,
  )
}

/** Makes a command that writes line by line. */
export function writing(
  count: number,
  act: (stores: OperatorStores, args: string[], values: Values) => AsyncIterable<string>,
  flags: readonly string[] = [],
): Subcommand {
  return {
    min: count,
    max: count,
    flags,
    async run(stores, args, values, write) {
      for await (const line of act(stores, args, values)) await write(`${line}\n`)
    },
  }
}

/** Resolves once the terminal, or the program that reads the output, has taken the piece. */
function writeOut(piece: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(piece, (error) => (error == null ? resolve() : reject(error)))
  })
}
