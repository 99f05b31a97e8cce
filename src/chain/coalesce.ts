/**
 * Natural batching: a call goes out at once while fewer than `maxInFlight` batches are under way, else it
 * waits and leaves with all others that wait when one returns. No timer, so no delay at low load.
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
        pump()
      })
    }
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      pump()
    })
}
