/** What was asked cannot be done, in one sentence that says why and what would mend it. */
export class Refusal extends Error {
  override name = 'Refusal'
}
