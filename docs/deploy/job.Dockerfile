# The image of jobs: its entrypoint is the command agent-runtime, and a job target gives the arguments.
FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY tasks.ts ./
# The store and its token come from where the container runs: AGENT_RUNTIME_STORE, AGENT_RUNTIME_TOKEN.
ENV NODE_ENV=production AGENT_RUNTIME_TASKS=/app/tasks.ts
USER node
ENTRYPOINT ["node", "node_modules/@ku0/agent-runtime-cli/bin/agent-runtime.mjs"]
