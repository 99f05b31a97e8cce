import { requiredIn } from 'arcus-client/tool-messages'
import type { SigningAnswer } from '../../../../api/listings.js'
import type { SupportedAnswer } from '../../../../api/payments.js'
import type { TryInput } from '../../../../api/try.js'
import { parseJson } from '../../../../x402/calls.js'
import { isObject, memberOf } from '../../../../x402/json.js'
import { requestJson } from '../../../api/http.js'
import { describeError } from '../../../wallet/wallet-error.js'
import { type CalledEndpoint, type Caller, callByPage, callByService, type Reply } from './call.js'
import { aloneAmongTabs, forgetOpen, keepOpen, openElsewhere } from './open-payments.js'
import { type SignedPayment, signPayment } from './payment.js'
import { approvePermit2, type Payer, type Plan, planPayment } from './permit2.js'
import {
  choose,
  fromBase64,
  type Permit2Service,
  readPermit2Service,
  readTerms,
  type ShownTerms,
} from './terms.js'
import { words } from './words.js'

/** The settlement as the seller tells it. */
export interface Settlement {
  success: boolean
  transaction: string | undefined
  /** Atomic units, if it tells what it took of a ceiling. */
  amount: string | undefined
  /** The signed statement of the facilitator. */
  attestation: unknown
}

export interface RunState {
  step: 'idle' | 'asking' | 'agreeing' | 'approving' | 'signing' | 'paying'
  /** The thing that is asked for before anything is signed, while the step is `agreeing`. */
  first?: 'permit' | 'approval'
  /** The reason why nothing was signed, if the last run ended so. */
  refusal?: { title: string; text: string }
  /** The payment of the last run. While it may still be taken, no other one is signed. */
  signed?: SignedPayment
  /** The last answer to a whole call: after the payment, or without one where none was asked for. */
  reply?: Reply
  /** Unix milliseconds of the answer to the payment. */
  repliedAt?: number
  settlement?: Settlement | undefined
  /** Whether the last payment has reached nobody but the service, which refused to pass it on. */
  isUnsent?: boolean
}

/** One endpoint that a person tries. It outlives the panel, so that a payment is not forgotten when that is closed. */
export interface Run {
  get(): RunState
  subscribe(listener: () => void): () => void
  /** Calls, signs once within the shown terms, and calls with the payment. Does nothing while it runs. */
  start(input: TryInput, payer: Payer, shown: ShownTerms): Promise<void>
  /** Answers what is asked in the step `agreeing`. */
  agree(isAgreed: boolean): void
  /** Sends the payment that was signed once more. */
  sendAgain(): Promise<void>
  /** Tells that the person has seen how the payment ended. */
  seen(): void
}

function createRun(called: CalledEndpoint): Run {
  const here = { merchantId: called.merchantId, endpointId: called.endpoint.state.id }
  const lockName = `arcus:pay ${here.merchantId} ${here.endpointId}`
  /** The payments that the person knows of, and went on from once they were over. */
  const passed = new Set<string>()
  const findElsewhere = () =>
    openElsewhere().findLast(
      ({ merchantId, endpointId, nonce }) =>
        merchantId === here.merchantId && endpointId === here.endpointId && !passed.has(nonce),
    )
  const findOpenElsewhere = () => {
    const other = findElsewhere()
    return other !== undefined && Date.now() / 1000 < other.validBefore ? other : undefined
  }
  const left = findElsewhere()
  let state: RunState = { step: 'idle', ...(left && { signed: left }) }
  /** Whether anybody but the service may have the payment. */
  let isOut = false
  let agree = (_isAgreed: boolean) => {}
  /** Asks before the tab is closed or left. Browsers show words of their own. */
  const warn = (event: BeforeUnloadEvent) => event.preventDefault()
  let paid: { input: TryInput; caller: Caller } | undefined
  const listeners = new Set<() => void>()

  function set(next: RunState): void {
    state = next
    if (next.step === 'paying') addEventListener('beforeunload', warn)
    else removeEventListener('beforeunload', warn)
    for (const listener of listeners) listener()
  }

  async function ask(input: TryInput): Promise<Reply> {
    const direct = await callByPage(called, input)
    // Terms in a header that the host does not expose are read through the service.
    const isReadable = direct?.status !== 402 || isObject(termsOf(direct))
    return direct !== undefined && isReadable ? direct : callByService(called, input)
  }

  async function pay(signed: SignedPayment): Promise<void> {
    if (paid === undefined) return
    const { input, caller } = paid
    keepOpen({ ...here, ...signed })
    set({ ...state, step: 'paying', signed })
    isOut ||= caller === 'page'
    const direct = caller === 'page' ? await callByPage(called, input, signed.header) : undefined
    // The same payment goes through the service where the page could not send it, or got no answer.
    const reply = direct ?? (await callByService(called, input, signed.header))
    const told = reply.ok ? settlementOf(reply) : undefined
    // A success that was told once stays known, though a second answer may say less.
    const settlement = told?.success === true ? told : (state.settlement ?? told)
    isOut ||= reply.ok || reply.wasSent
    if (!isOut) forgetOpen(signed.nonce)
    set({ step: 'idle', signed, reply, settlement, repliedAt: Date.now(), isUnsent: !isOut })
  }

  /** Asks the person for what comes before the payment, and waits for the answer. */
  function isAgreed(first: NonNullable<Plan['first']>['kind']): Promise<boolean> {
    return new Promise((resolve) => {
      agree = resolve
      set({ step: 'agreeing', first })
    })
  }

  function giveWay(title: string): void {
    set({ step: 'idle', refusal: { title, text: words.otherTab } })
  }

  async function payOnce(input: TryInput, payer: Payer, shown: ShownTerms): Promise<void> {
    const other = findOpenElsewhere()
    if (other !== undefined) return set({ step: 'idle', signed: other })
    const first = await ask(input)
    if (!first.ok) {
      const title = first.wasSent ? words.notAnswered : words.notCalled
      return set({ step: 'idle', refusal: { title, text: first.message } })
    }
    const terms = termsOf(first)
    if (first.status !== 402 && !isObject(terms)) return set({ step: 'idle', reply: first })
    const refuse = (text: string, title: string = words.refused) =>
      set({ step: 'idle', refusal: { title, text } })
    const service = await readService(shown.network)
    const choice = choose(terms, shown, service)
    if (!choice.ok) return refuse(choice.why)
    const { required, ways } = choice
    const planned = await planPayment(ways, payer, required, shown, service)
    if (!planned.ok) return refuse(planned.why)
    const { plan } = planned
    if (plan.first !== undefined && !(await isAgreed(plan.first.kind))) {
      return set({ step: 'idle' })
    }
    let done = 0
    const counting: Payer = {
      ...payer,
      async sign(typedData) {
        const signature = await payer.sign(typedData)
        done++
        return signature
      },
    }
    let signed: SignedPayment
    try {
      if (plan.first?.kind === 'approval') {
        set({ step: 'approving' })
        await approvePermit2(payer, shown.asset.address, BigInt(plan.way.offer.amount))
        done++
      }
      set({ step: 'signing' })
      signed = await signPayment(counting, { required, plan }, shown, await readServiceNow())
    } catch (error) {
      return refuse(describeError(error), done > 0 ? words.unsent : words.refused)
    }
    paid = { input, caller: first.by }
    isOut = false
    await pay(signed)
  }

  return {
    get: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async start(input, payer, shown) {
      if (state.step !== 'idle') return
      if (state.signed !== undefined) passed.add(state.signed.nonce)
      set({ step: 'asking' })
      if (!(await aloneAmongTabs(lockName, () => payOnce(input, payer, shown)))) {
        giveWay(words.refused)
      }
    },
    agree: (isAgreed) => agree(isAgreed),
    async sendAgain() {
      const { step, signed } = state
      if (step !== 'idle' || signed === undefined || paid === undefined) return
      if (isOut) return pay(signed)
      set({ ...state, step: 'paying' })
      const isAlone = await aloneAmongTabs(lockName, async () => {
        // A payment that nobody got is forgotten, and another tab may have signed one since.
        const other = findOpenElsewhere()
        if (other === undefined) await pay(signed)
        else set({ step: 'idle', signed: other })
      })
      if (!isAlone) giveWay(words.notSent)
    },
    seen() {
      if (state.signed !== undefined) forgetOpen(state.signed.nonce)
    },
  }
}

/** Returns the time of the service in Unix seconds; `undefined` where it does not tell. */
async function readServiceNow(): Promise<number | undefined> {
  const signing = await requestJson<SigningAnswer>('/api/signing').catch(() => undefined)
  return signing?.time.now
}

/** Returns how the service settles by Permit2; `undefined` where it does not tell, which leaves the other ways to pay. */
async function readService(network: string): Promise<Permit2Service | undefined> {
  const supported = await requestJson<SupportedAnswer>('/supported').catch(() => undefined)
  return supported && readPermit2Service(supported, network)
}

/** Returns what an answer asks to be paid, as it came; of a tool only where it has terms. */
function termsOf(reply: Reply & { ok: true }): unknown {
  const text = new TextDecoder().decode(reply.bytes)
  if (reply.status === 402) return readTerms(reply.headers['payment-required'], text)
  const terms = requiredIn(memberOf(messageIn(text), 'result'))
  return isObject(terms) && 'accepts' in terms ? terms : undefined
}

/** Returns the message of JSON-RPC in a text, if it is one. */
function messageIn(text: string): unknown {
  const message = parseJson(text)
  return memberOf(message, 'jsonrpc') === '2.0' ? message : undefined
}

/** Reads what the seller says of the payment: the header of its answer, or the metadata of a tool's result. */
function settlementOf(reply: Reply & { ok: true }): Settlement | undefined {
  const header = reply.headers['payment-response']
  const text = new TextDecoder().decode(reply.bytes)
  const told =
    header === undefined
      ? memberOf(memberOf(memberOf(messageIn(text), 'result'), '_meta'), 'x402/payment-response')
      : parseJson(fromBase64(header))
  if (!isObject(told)) return undefined
  const { success, transaction, amount, extensions } = told
  const info = memberOf(memberOf(extensions, 'facilitator-attestation'), 'info')
  const isHash = typeof transaction === 'string' && /^0x[0-9a-fA-F]{64}$/.test(transaction)
  return {
    success: success === true,
    transaction: isHash ? transaction : undefined,
    amount: typeof amount === 'string' ? amount : undefined,
    attestation: memberOf(info, 'attestation'),
  }
}

const runs = new Map<string, Run>()

/** Returns the run of an endpoint for the life of the page. */
export function runOf(called: CalledEndpoint): Run {
  const name = `${called.merchantId} ${called.endpoint.state.id}`
  const run = runs.get(name) ?? createRun(called)
  runs.set(name, run)
  return run
}
