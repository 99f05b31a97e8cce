/**
 * Batches calls naturally: while fewer than `maxInFlight` batches are under way, all calls of one tick of the event loop
 * leave together at its end; else they wait and leave when a batch returns. There is no timer, so no delay at low load.
 * A batch that throws is run once more, then halved, so that one member never fails the others. A member that has waited
 * for `patienceMs` by then is not tried again: else a chain that hangs would be asked at each halving.
 */
export function createCoalescer<Input, Output>(options: {
  run(inputs: Input[]): Promise<Output[]>
  maxInFlight: number
  maxMembers: number
  patienceMs: number
  /** Milliseconds, monotonic; for tests. */
  now?: () => number
}): (input: Input) => Promise<Output> {
  interface WaitingInput {
    input: Input
    patientUntil: number
    resolve(output: Output): void
    reject(error: unknown): void
  }
  const { now = () => performance.now() } = options
  let waiting: WaitingInput[] = []
  let inFlight = 0
  let isPumping = false

  async function settle(batch: WaitingInput[], mayRetry: boolean): Promise<void> {
    try {
      const outputs = await options.run(batch.map((member) => member.input))
      batch.forEach((member, i) => {
        member.resolve(outputs[i] as Output)
      })
    } catch (error) {
      const failedAt = now()
      const patient = batch.filter(({ patientUntil }) => failedAt < patientUntil)
      for (const member of batch) if (failedAt >= member.patientUntil) member.reject(error)
      if (patient.length === 0) return
      if (mayRetry) return settle(patient, false)
      if (patient.length === 1) return patient[0]?.reject(error)
      const middle = patient.length >> 1
      const halves = [patient.slice(0, middle), patient.slice(middle)]
      await Promise.all(halves.map((half) => settle(half, false)))
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
      waiting.push({ input, patientUntil: now() + options.patienceMs, resolve, reject })
      pumpSoon()
    })
}
