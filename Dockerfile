# One image for every role; docker-compose.yml says which role a container plays.
FROM python:3.11-slim AS hydra
ENV HYDRA_VENV=/opt/hydra-venv PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=2 UV_COMPILE_BYTECODE=1
WORKDIR /opt/hydra
COPY requirements.txt constraints.txt manage.py ./
COPY controlplane/__init__.py controlplane/heap.py controlplane/
COPY controlplane/embedded controlplane/embedded
RUN python3 manage.py install
COPY . .
# Roles may write nothing here, and would compile two thousand files at each start.
RUN "$HYDRA_VENV/bin/python" -m compileall -q client contract controlplane hydra nodemanager scheduler simulator wire
# The volume of artifacts is made with the owner of the folder that it covers.
RUN useradd --system --uid 10001 --home-dir /var/lib/hydra --create-home hydra \
    && install -d -o hydra /var/lib/hydra/artifacts
USER hydra
ENTRYPOINT ["python3", "manage.py"]
CMD ["help"]
