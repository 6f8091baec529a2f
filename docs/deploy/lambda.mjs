// The function of lambda.yaml: each event of lambdaJobs() has the arguments of agent-runtime.
import { runCommand } from '@ku0/agent-runtime-cli'

export async function handler({ args }, context) {
  const control = new AbortController()
  // The task goes back to the queue before Lambda ends the function.
  const timer = setTimeout(() => control.abort(), context.getRemainingTimeInMillis() - 30_000)
  try {
    const streams = {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
    }
    const code = await runCommand(args, streams, control.signal)
    if (code !== 0) throw new Error(`agent-runtime ended with ${code}`)
  } finally {
    clearTimeout(timer)
  }
}
