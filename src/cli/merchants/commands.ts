import { parseArguments, UsageError } from '../arguments.js'
import { addBlock, parseBlockTarget, removeBlock } from '../block-commands.js'
import type { Desk } from './desk.js'
import { exportMerchants, exportToFile } from './export.js'
import { importMerchants } from './import.js'
import { hide, markHosted, markOfficial, markPartner, parseSwitch, unhide } from './mark.js'
import { listMerchants, showMerchant } from './show.js'

/** Writes for the person at the terminal, or whatever stands behind it. */
export type Write = (text: string) => Promise<void>

/** A command with its arguments, ready to be run. */
export type Command = (desk: Desk, write: Write) => Promise<void>

type Values = ReturnType<typeof readArguments>['values']

interface Known {
  min: number
  max: number
  flags: readonly string[]
  run(desk: Desk, args: string[], values: Values, write: Write): Promise<void>
}

/** Reads a command line; `help` when that is asked for, or nothing is. Throws a `UsageError`. */
export function readCommand(args: string[]): Command | 'help' {
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
  return (desk, write) => known.run(desk, rest, values, write)
}

function readArguments(args: string[]) {
  return parseArguments({
    args,
    allowPositionals: true,
    options: {
      reason: { type: 'string' },
      out: { type: 'string' },
      'dry-run': { type: 'boolean' },
      replace: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
}

const commands: Record<string, Known> = {
  list: {
    ...takes(0),
    async run(desk, _, __, write) {
      for await (const line of listMerchants(desk)) await write(`${line}\n`)
    },
  },
  show: telling(1, (desk, [id = '']) => showMerchant(desk, id)),
  official: telling(2, (desk, [id = '', word]) => markOfficial(desk, id, parseSwitch(word))),
  partner: telling(2, (desk, [id = '', word]) => markPartner(desk, id, parseSwitch(word))),
  hosted: {
    ...telling(3, (desk, [id = '', url = '', ...rest]) => {
      const isHosted = parseSwitch(rest.at(-1))
      const method = rest.length > 1 ? rest[0]?.toUpperCase() : undefined
      return markHosted(desk, { id, url, method, isHosted })
    }),
    max: 4,
  },
  hide: telling(1, (desk, [id = ''], { reason }) => hide(desk, id, reason), ['reason']),
  unhide: telling(1, (desk, [id = '']) => unhide(desk, id)),
  block: telling(
    2,
    ({ blocks }, [role, address], { reason = '' }) =>
      addBlock(blocks, parseBlockTarget(role, address), reason),
    ['reason'],
  ),
  unblock: telling(2, ({ blocks }, [role, address]) =>
    removeBlock(blocks, parseBlockTarget(role, address)),
  ),
  export: {
    ...takes(0, ['out']),
    async run(desk, _, { out }, write) {
      if (out === undefined) await exportMerchants(desk, write)
      else await write(`${await exportToFile(desk, out)}\n`)
    },
  },
  import: telling(
    1,
    (desk, [file = ''], values) =>
      importMerchants(desk, file, {
        isDryRun: values['dry-run'] === true,
        replaces: values.replace === true,
      }),
    ['dry-run', 'replace'],
  ),
}

function takes(count: number, flags: readonly string[] = []) {
  return { min: count, max: count, flags }
}

/** A command that ends with a sentence. */
function telling(
  count: number,
  act: (desk: Desk, args: string[], values: Values) => Promise<string>,
  flags?: readonly string[],
): Known {
  return {
    ...takes(count, flags),
    async run(desk, args, values, write) {
      await write(`${await act(desk, args, values)}\n`)
    },
  }
}
