/** Something that keeps the devnet from running, as one sentence fit for the terminal. */
export class DevnetError extends Error {
  override name = 'DevnetError'
}

/** A port another program holds already. */
export class PortTakenError extends DevnetError {
  override name = 'PortTakenError'
}
