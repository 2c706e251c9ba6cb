"""SPARQLWrapper, unmodified: all four forms, GET and POST, every format it knows, updates.
Arguments: the endpoint, the endpoint of updates."""

import sys

from SPARQLWrapper import CSV, JSON, JSONLD, N3, POST, POSTDIRECTLY, RDFXML, TSV, TURTLE, XML, SPARQLWrapper

endpoint = sys.argv[1]
E = "http://e/"


def client(text, form):
    wrapper = SPARQLWrapper(endpoint)
    wrapper.setQuery(text)
    wrapper.setReturnFormat(form)
    return wrapper


SELECT = f"SELECT ?n {{ <{E}p1> <{E}name> ?n }}"
found = client(SELECT, JSON).queryAndConvert()
assert [row["n"]["value"] for row in found["results"]["bindings"]] == ["Person 1"], found

posted = client(SELECT, JSON)
posted.setMethod(POST)
assert posted.queryAndConvert() == found
posted.setRequestMethod(POSTDIRECTLY)
assert posted.queryAndConvert() == found

assert "Person 1" in client(SELECT, XML).queryAndConvert().toxml()
assert b"Person 1" in client(SELECT, CSV).queryAndConvert()
assert b"Person 1" in client(SELECT, TSV).queryAndConvert()

assert client(f"ASK {{ <{E}p1> <{E}knows> <{E}p2> }}", JSON).queryAndConvert()["boolean"] is True
assert client(f"ASK {{ <{E}p1> <{E}knows> <{E}p3> }}", JSON).queryAndConvert()["boolean"] is False

CONSTRUCT = f"CONSTRUCT {{ ?b <{E}knownBy> ?a }} WHERE {{ ?a <{E}knows> ?b }} LIMIT 10"
for form in (XML, RDFXML):
    graph = client(CONSTRUCT, form).queryAndConvert()
    assert len(graph) == 10, (form, len(graph))
assert len(client(CONSTRUCT, JSONLD).queryAndConvert()) == 10
for form in (TURTLE, N3):
    assert b"knownBy" in client(CONSTRUCT, form).queryAndConvert()

described = client(f"DESCRIBE <{E}p1>", RDFXML).queryAndConvert()
assert len(described) == 2, len(described)

try:
    client("SELECT ?x {", JSON).query()
    raise SystemExit("a query that does not parse was answered")
except Exception as error:
    assert "QueryBadFormed" in type(error).__name__, error
for method in (POST, POSTDIRECTLY):
    for endpoint in sys.argv[1:3]:
        for update, there in (("INSERT", True), ("DELETE", False)):
            wrapper = SPARQLWrapper(endpoint)
            wrapper.setMethod(POST)
            if method == POSTDIRECTLY:
                wrapper.setRequestMethod(POSTDIRECTLY)
            wrapper.setQuery(f"{update} DATA {{ <{E}new> <{E}is> 'ü' }}")
            assert wrapper.isSparqlUpdateRequest()
            assert wrapper.query().response.status in (200, 204)
            found = SPARQLWrapper(sys.argv[1])
            found.setReturnFormat(JSON)
            found.setQuery(f"ASK {{ <{E}new> <{E}is> 'ü' }}")
            assert found.queryAndConvert()["boolean"] is there
print("ok")
