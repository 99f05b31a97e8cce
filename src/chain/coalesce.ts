/**
 * Natural batching: while fewer than `maxInFlight` batches are under way, all calls of one turn of the event loop
 * leave together at its end; else they wait and leave when a batch returns. No timer, so no delay at low load.
 * A batch that throws is run once more, then halved, so that one member never fails the others.
 */
export function createCoalescer<Input, Output>(options: {
  run(inputs: Input[]): Promise<Output[]>
  maxInFlight: number
  maxMembers: number
}): (input: Input) => Promise<Output> {
  interface Waiting {
    input: Input
    resolve(output: Output): void
    reject(error: unknown): void
  }
  let waiting: Waiting[] = []
  let inFlight = 0
  let isPumping = false

  async function settle(batch: Waiting[], mayRetry: boolean): Promise<void> {
    try {
      const outputs = await options.run(batch.map((member) => member.input))
      batch.forEach((member, i) => {
        member.resolve(outputs[i] as Output)
      })
    } catch (error) {
      if (mayRetry) return settle(batch, false)
      if (batch.length === 1) return batch[0]?.reject(error)
      const middle = batch.length >> 1
      await Promise.all([settle(batch.slice(0, middle), false), settle(batch.slice(middle), false)])
    }
  }

  function pump(): void {
    while (inFlight < options.maxInFlight && waiting.length > 0) {
      const batch = waiting.slice(0, options.maxMembers)
      waiting = waiting.slice(options.maxMembers)
      inFlight++
      void settle(batch, true).finally(() => {
        inFlight--
        pumpSoon()
      })
    }
  }

  function pumpSoon(): void {
    if (isPumping) return
    isPumping = true
    setImmediate(() => {
      isPumping = false
      pump()
    })
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      pumpSoon()
    })
}
