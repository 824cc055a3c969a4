#!/bin/sh
# Build the workers' image from this checkout, by docker, podman or buildah:
#
#   pipelines/image/build.sh IMAGE [OPTIONS of the build, such as --build-arg BASE=…]
set -eu
if [ $# -lt 1 ]; then
    echo "usage: pipelines/image/build.sh IMAGE [OPTIONS]" >&2
    exit 2
fi
image=$1
shift
cd "$(dirname "$0")/../.."

if docker info >/dev/null 2>&1; then
    build="docker build"
elif podman info >/dev/null 2>&1; then
    build="podman build"
elif buildah info >/dev/null 2>&1; then
    build="buildah build"
else
    echo "none of docker, podman and buildah works here" >&2
    exit 1
fi

rm -rf dist
python3 -m pip wheel --quiet --no-deps --wheel-dir dist .
echo "+ $build --file pipelines/image/Dockerfile --tag $image $*"
$build --file pipelines/image/Dockerfile --tag "$image" "$@" .
