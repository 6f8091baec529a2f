import { type EventData, parseJson, type ValueCodec } from '@ku0/agent-runtime-core'

/** The data of the submission, which the claim brings. */
export type SubmissionData = EventData['task.queued']

/** Its input is decoded, and may need a codec or a key. */
export function readSubmission(text: string, values: ValueCodec): SubmissionData {
  const data = readTerms(text)
  if (text.includes('"$ku0"')) data.input = values.decode(JSON.stringify(data.input))
  return data
}

/** The same with the input as it is stored. */
export function readTerms(text: string): SubmissionData {
  return parseJson(text) as SubmissionData
}
