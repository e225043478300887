# Angelia's gateway, for an ordinary user, with a read-only root: all that changes is in /data: the home, and where chats work.
#   make wheel && docker build --tag angelia .
# BASE is any Debian or Ubuntu with python3 and its venv.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=documents,web,gateway,login,discord,slack,mcp,encryption
COPY dist/angelia-*.whl /wheels/
RUN python3 -m venv /opt/angelia \
 && /opt/angelia/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
    "angelia${EXTRAS:+[$EXTRAS]} @ file://$(ls /wheels/angelia-*.whl)"

FROM ${BASE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git libgomp1 ripgrep \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/angelia /opt/angelia
RUN groupadd --gid 1000 angelia && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /data angelia \
 && install --directory --mode 700 --owner 1000 --group 1000 /data \
 && install --directory --mode 700 --owner 1000 --group 1000 /backups
ENV PATH=/opt/angelia/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/data ANGELIA_HOME=/data/home ANGELIA_IMAGE=1 PYTHONDONTWRITEBYTECODE=1
USER 1000:1000
VOLUME ["/data", "/backups"]
WORKDIR /data
HEALTHCHECK --interval=60s --timeout=20s --start-period=60s --retries=3 CMD ["angelia", "gateway", "status"]
ENTRYPOINT ["angelia"]
CMD ["gateway"]
