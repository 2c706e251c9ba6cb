#!/bin/sh
# Installs the clients that are not there yet, each where it can, into the folder given. What is missing
# is left out by the tests, which say so.
set -u
into=$1
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
mkdir -p "$into"

if command -v python3 >/dev/null && ! "$into/python/bin/python" -c 'import SPARQLWrapper, rdflib' 2>/dev/null; then
    python3 -m venv "$into/python" && "$into/python/bin/pip" install --quiet \
        --disable-pip-version-check 'SPARQLWrapper==2.0.0' 'rdflib==7.6.0'
fi
if command -v npm >/dev/null && [ ! -d "$into/node/node_modules/@comunica/query-sparql" ]; then
    mkdir -p "$into/node" && npm install --silent --no-audit --no-fund --prefix "$into/node" \
        '@comunica/query-sparql@4.5.0' >/dev/null
fi
# The page's browser: Debian's, where this may install it (60 s and 350 MB).
if command -v npm >/dev/null && [ ! -d "$into/node/node_modules/puppeteer-core" ]; then
    mkdir -p "$into/node" && npm install --silent --no-audit --no-fund --prefix "$into/node" \
        'puppeteer-core@24.43.1' >/dev/null
fi
if ! command -v chromium >/dev/null && [ -z "${CHROMIUM:-}" ] && command -v apt-get >/dev/null; then
    as=
    [ "$(id -u)" -eq 0 ] || as="sudo -n"
    { $as apt-get install -y --no-install-recommends chromium \
        || { $as apt-get update && $as apt-get install -y --no-install-recommends chromium; }; } >/dev/null 2>&1
fi
if command -v mvn >/dev/null && command -v javac >/dev/null && [ ! -f "$into/jena/JenaClient.class" ]; then
    mkdir -p "$into/jena" && mvn --quiet --batch-mode --file "$here/pom.xml" \
        "-DbuildDirectory=$into/jena/build" dependency:copy-dependencies "-DoutputDirectory=$into/jena/jars" \
        && javac -cp "$into/jena/jars/*" -d "$into/jena" "$here/JenaClient.java"
fi
exit 0
