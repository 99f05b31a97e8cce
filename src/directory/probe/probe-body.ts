import { z } from 'zod'

const problem = 'endpointId must be a whole number from 1'

/** What a look by hand takes. */
export const probeBody = z.object(
  {
    endpointId: z
      .int(problem)
      .min(1, problem)
      .optional()
      .describe('By the id in its `state`; without it those not looked at for longest.'),
  },
  'The body must be a JSON object',
)
