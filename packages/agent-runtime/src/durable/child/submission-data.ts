import { decode, type EventData, parseJson } from '@ku0/agent-runtime-core'

/** The data of the submission, which the claim brings. */
export type SubmissionData = EventData['task.queued']

export function readSubmission(text: string): SubmissionData {
  const data = parseJson(text) as SubmissionData
  if (text.includes('"$ku0"')) data.input = decode(JSON.stringify(data.input))
  return data
}
