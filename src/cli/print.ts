/** Writes a line for the person at the terminal. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes the one sentence that says why a command ends without success. */
export function printError(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
}
