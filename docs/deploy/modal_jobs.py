# modal deploy modal_jobs.py
# modalJobs() calls the web function: POST /jobs, GET /jobs/ID, DELETE /jobs/ID.
import subprocess

import modal

app = modal.App("agent-jobs")
image = modal.Image.from_registry("registry.example/agent:1", add_python="3.13").entrypoint([])
web_image = modal.Image.debian_slim().pip_install("fastapi[standard]")


# The lease queues a lost task again.
@app.function(image=image, retries=0, timeout=86_400, secrets=[modal.Secret.from_name("agent")])
def job(args: list[str]):
    program = "node_modules/@ku0/agent-runtime-cli/bin/agent-runtime.mjs"
    subprocess.run(["node", program, *args], cwd="/app", check=True)


@app.function(image=web_image)
@modal.asgi_app(requires_proxy_auth=True)
def web():
    from fastapi import Body, FastAPI, HTTPException

    api = FastAPI()

    def call(id: str):
        try:
            return modal.FunctionCall.from_id(id)
        except modal.exception.NotFoundError:
            raise HTTPException(404)

    @api.post("/jobs")
    def start(args: list[str] = Body(embed=True)):
        return {"id": job.spawn(args).object_id}

    @api.get("/jobs/{id}")
    def state(id: str):
        try:
            call(id).get(timeout=0)
            return {"state": "succeeded"}
        except TimeoutError:
            return {"state": "running"}
        except (modal.exception.NotFoundError, modal.exception.OutputExpiredError):
            raise HTTPException(404)
        except HTTPException:
            raise
        except Exception:
            return {"state": "failed"}

    @api.delete("/jobs/{id}")
    def stop(id: str):
        call(id).cancel()
        return {}

    return api
