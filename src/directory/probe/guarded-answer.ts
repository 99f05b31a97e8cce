/** What came before the body. Names are lower-case; a header that came twice is joined with a comma. */
export interface AnswerHead {
  status: number
  headers: Readonly<Record<string, string>>
}

/** How a guarded call ended. Nothing of it is thrown. */
export type GuardedAnswer =
  | {
      kind: 'answer'
      head: AnswerHead
      /** UTF-8; empty when the server compressed it though it was told not to. */
      body: string
      bodyBytes: number
    }
  /** `location` is where it points, resolved and bounded, never followed; `null` when it names no place. */
  | { kind: 'redirect'; head: AnswerHead; location: string | null; message: string }
  /** Refused before, or right after, a connection was made: not a byte was sent. */
  | { kind: 'blocked'; message: string }
  /** `head` is there when only the body was missing. */
  | { kind: 'timeout'; head?: AnswerHead; message: string }
  | { kind: 'too_large'; head?: AnswerHead; message: string }
  /** `code` is of the system, TLS or the HTTP parser: `ECONNREFUSED`, `CERT_HAS_EXPIRED`… */
  | { kind: 'unreachable'; head?: AnswerHead; code: string; message: string }

/** The status and headers of an answer, if it got that far. */
export function headOf(answer: GuardedAnswer): AnswerHead | undefined {
  return 'head' in answer ? answer.head : undefined
}
