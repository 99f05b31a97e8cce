import { validation } from '../../api/discovery.js'
import { httpCodes } from '../../api/errors.js'
import { probeAnswer } from '../../api/listings.js'
import type { Operation } from '../../http/operation.js'
import { probeBody } from '../probe/probe-body.js'
import { validateBody } from '../probe/validate-body.js'
import { writeCodes } from '../write-codes.js'
import { unknownMerchant } from './examples.js'
import { ofMerchant } from './read-operations.js'

const { merchantNotFound, merchantDeleted } = writeCodes

export const validateOperation: Operation = {
  id: 'validateEndpoint',
  tag: 'Discovery',
  summary: 'What a look at any endpoint finds, and a listing drafted from its live 402',
  description:
    'The endpoint is called once, without payment, through a guard that reaches public addresses only.',
  body: validateBody,
  answers: { 200: { description: 'The verdict.', schema: validation } },
  codes: [httpCodes.rateLimited],
  examples: {
    blocked: {
      summary: 'An address that may not be called',
      body: { url: 'http://169.254.169.254/latest', method: 'GET' },
      status: 200,
    },
    malformed: {
      summary: 'Not a URL',
      body: { url: 'api.example.com', method: 'GET' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'url must be an absolute http or https URL, such as https://api.example.com/data.',
      },
    },
  },
}

export const probeOperation: Operation = {
  id: 'probeMerchant',
  tag: 'Directory',
  summary: 'Look at endpoints now instead of at their time',
  params: ofMerchant,
  body: probeBody,
  isBodyOptional: true,
  answers: { 200: { description: 'What was found.', schema: probeAnswer } },
  codes: [merchantNotFound, merchantDeleted, httpCodes.endpointNotFound],
  examples: {
    unknown: { ...unknownMerchant, body: {} },
  },
}
