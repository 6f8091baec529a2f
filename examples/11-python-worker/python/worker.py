"""A worker with one task type. It reads the server's URL from the environment, and a token if the server wants one."""

import os
import signal

from durable import Worker

worker = Worker(os.environ["AGENT_RUNTIME_URL"], os.environ.get("AGENT_RUNTIME_TOKEN"))
signal.signal(signal.SIGTERM, lambda *_: worker.stop())


@worker.task("translate")
def translate(ctx, text):
    def read():
        print(f"read, attempt {ctx.attempt}", flush=True)
        return text.split()

    def ask(word):
        print(f"ask the model about {word}", flush=True)
        ctx.emit(word.upper())
        return word.upper()

    words = ctx.step("read", read)
    # Each word is a step: after a crash, the model is not asked again about those that it has answered.
    translated = [ctx.step(f"ask {n}", lambda word=word: ask(word)) for n, word in enumerate(words)]
    return {"text": " ".join(translated), "reviewer": ctx.wait_for_signal("approved")}


worker.run()
