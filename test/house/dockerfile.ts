/** One instruction of a Dockerfile, on one line. */
export interface Instruction {
  name: string
  text: string
}

export interface Stage {
  name: string
  /** An image, or an earlier stage. */
  from: string
  instructions: Instruction[]
}

/** Reads a Dockerfile with one instruction on each line and no continuations. */
export function parseDockerfile(source: string): Stage[] {
  const stages: Stage[] = []
  const args = new Map<string, string>()
  for (const line of source.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name = '', text = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (name === 'ARG') {
      const [key = '', value = ''] = text.split('=')
      args.set(key, value)
    } else if (name === 'FROM') {
      const [, image = '', stage = ''] = /^(\S+) AS (\S+)$/.exec(text) ?? []
      const from = image.replace(/\$\{(\w+)\}/g, (_, key) => args.get(key) ?? '')
      stages.push({ name: stage, from, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (name === '' || stage === undefined) throw new Error(`not understood: ${line}`)
      stage.instructions.push({ name, text })
    }
  }
  return stages
}
