# The image of hpa-controller: `docker build --tag hpa-controller:0.1.0 .`
#
# Python's packages are those of requirements/*.txt, by hash. The base can be pinned by digest:
# `--build-arg BASE=debian@sha256:…`. `make image-check` runs these steps without a container engine.

ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What is downloaded first: these layers stay as they are until the locks change.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python3 -m venv /opt/build \
 && python3 -m venv --without-pip /opt/hpa-controller \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes --requirement requirements/build.txt \
 && /opt/build/bin/pip --python /opt/hpa-controller/bin/python install --no-cache-dir --no-compile \
      --only-binary=:all: --require-hashes --requirement requirements/runtime.txt
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY controller controller
# Compiled here, since nothing can be written where it runs.
RUN /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /tmp/wheels . \
 && /opt/build/bin/pip --python /opt/hpa-controller/bin/python install --no-compile --no-deps --no-index /tmp/wheels/*.whl \
 && /opt/hpa-controller/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/hpa-controller/lib

FROM ${BASE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/hpa-controller /opt/hpa-controller
# HOME: a user without an entry in /etc/passwd has none, and what looks for it would fail.
ENV PATH=/opt/hpa-controller/bin:/usr/local/bin:/usr/bin:/bin HOME=/nonexistent \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that a cluster can see that it is not root.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["hpa-controller"]
CMD ["run"]
