#!/bin/sh
# curl: the protocol by hand. Argument: the server's address, as in http://127.0.0.1:7272.
set -eu
base=$1
fail() { echo "failed: $1" >&2; exit 1; }
ask='ASK { <http://e/p1> <http://e/knows> <http://e/p2> }'
select='SELECT ?n { <http://e/p1> <http://e/name> ?n }'

out=$(curl -fsS -G "$base/sparql" --data-urlencode "query=$ask")
[ "$out" = '{"head":{},"boolean":true}' ] || fail "ASK by GET: $out"
out=$(curl -fsS "$base/sparql" -H 'Accept: text/csv' --data-urlencode "query=$select" | tr -d '\r')
[ "$out" = "$(printf 'n\nPerson 1')" ] || fail "SELECT by form: $out"
out=$(curl -fsS "$base/query" -H 'Content-Type: application/sparql-query' -H 'Accept: text/tab-separated-values' --data "$select")
[ "$out" = "$(printf '?n\n"Person 1"@en')" ] || fail "SELECT by POST: $out"
out=$(curl -fsS -X QUERY "$base/sparql" -H 'Content-Type: application/sparql-query' -H 'Accept: text/csv' --data "$select" | tr -d '\r')
[ "$out" = "$(printf 'n\nPerson 1')" ] || fail "SELECT by QUERY: $out"
out=$(curl -fsS -G "$base/sparql" -H 'Accept: application/n-triples' --data-urlencode 'query=CONSTRUCT WHERE { <http://e/p1> <http://e/knows> ?b }')
[ "$out" = '<http://e/p1> <http://e/knows> <http://e/p2> .' ] || fail "CONSTRUCT: $out"
out=$(curl -fsS -G "$base/sparql" -H 'Accept: text/turtle' --data-urlencode 'query=DESCRIBE <http://e/p1>' | grep -c 'http://e/')
[ "$out" -ge 1 ] || fail "DESCRIBE: $out"
out=$(curl -fsS "$base/store?graph=http://e/graph" -H 'Accept: application/n-triples' | wc -l)
[ "$out" -eq 1 ] || fail "a named graph: $out lines"
out=$(curl -sS -o /dev/null -w '%{http_code}' "$base/store?graph=http://e/nowhere")
[ "$out" = 404 ] || fail "a graph that is not there: $out"
out=$(curl -fsS "$base/sparql" -H 'Accept: text/turtle' | grep -c 'sparql-service-description')
[ "$out" -ge 1 ] || fail "service description: $out"
out=$(curl -sS -o /dev/null -w '%{http_code}' -G "$base/sparql" --data-urlencode 'query=SELECT {')
[ "$out" = 400 ] || fail "a query that does not parse: $out"
status() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
out=$(status "$base/update" --data-urlencode 'update=INSERT DATA { GRAPH <http://e/c> { <http://e/a> <http://e/b> 1, 2 } }')
[ "$out" = 204 ] || fail "an update by form: $out"
out=$(status "$base/sparql" -H 'Content-Type: application/sparql-update' --data 'DELETE DATA { GRAPH <http://e/c> { <http://e/a> <http://e/b> 1 } }')
[ "$out" = 204 ] || fail "an update by POST: $out"
out=$(curl -fsS "$base/store?graph=http://e/c" -H 'Accept: application/n-triples' | wc -l)
[ "$out" -eq 1 ] || fail "what updates left: $out lines"
out=$(printf '<http://e/a> <http://e/b> <c>, <d> .' | status -T - "$base/store?graph=http://e/c" -H 'Content-Type: text/turtle')
[ "$out" = 204 ] || fail "a graph that is put, in chunks: $out"
out=$(printf '<x> <y> <z> .' | gzip | status "$base/store?graph=http://e/c" -H 'Content-Type: text/turtle' -H 'Content-Encoding: gzip' --data-binary @-)
[ "$out" = 204 ] || fail "a compressed document that is added: $out"
out=$(curl -fsS "$base/store?graph=http://e/c" -H 'Accept: application/n-triples' | wc -l)
[ "$out" -eq 3 ] || fail "a graph that was written: $out lines"
for expected in 204 404; do
    out=$(status -X DELETE "$base/store?graph=http://e/c")
    [ "$out" = "$expected" ] || fail "deleting a graph: $out"
done
folder=$(mktemp -d) && trap 'rm -r "$folder"' EXIT
printf '<http://e/a> <http://e/b> <http://e/c> .' > "$folder/data.ttl"
out=$(status -F "file=@$folder/data.ttl" "$base/store?graph=http://e/form")
[ "$out" = 201 ] || fail "a file as a form: $out"
tag=$(curl -fsS -o /dev/null -D - "$base/store?graph=http://e/form" | tr -d '\r' | sed -n 's/^etag: //p')
out=$(status -H "If-None-Match: $tag" "$base/store?graph=http://e/form")
[ "$out" = 304 ] || fail "a graph that is there already: $out $tag"
out=$(status -X DELETE -H "If-Match: $tag" "$base/store?graph=http://e/form")
[ "$out" = 204 ] || fail "deleting what was read: $out $tag"
if curl --version | grep -q libz; then
    out=$(curl -fsS --compressed "$base/store" | wc -l)
    [ "$out" -eq 4001 ] || fail "the whole store, compressed: $out lines"
fi
echo ok
