// The view of queries.
//
// An answer is read as it comes, until what is shown of it is full. Then the request is aborted, which cancels
// the query. Saving asks again, and the browser writes the answer to a file without this page.

const ROWS_KEPT = 10000;
const ROWS_AT_ONCE = 1000;
const TEXT_SHOWN = 512 * 1024;
const BYTES_KEPT = 32 * 1024 * 1024;
// A longer address is not asked for: proxies refuse them from 8 KiB on.
const ADDRESS_MAX = 8000;
const JSON_ROWS = "application/sparql-results+json";
const TURTLE = "text/turtle";
const FORMATS = [/* the formats of answers */].map(([kind, label, ending, type]) => ({ kind, label, ending, type }));
const formatOf = (type) => FORMATS.find((format) => format.type === type);
const EXAMPLES = [
  ["Any ten statements", "SELECT ?subject ?predicate ?object\nWHERE {\n  ?subject ?predicate ?object .\n}\nLIMIT 10"],
  ["Classes in use", "SELECT DISTINCT ?class\nWHERE {\n  ?thing a ?class .\n}\nORDER BY ?class\nLIMIT 100"],
  ["Predicates in use", "SELECT DISTINCT ?predicate\nWHERE {\n  ?subject ?predicate ?object .\n}\nORDER BY ?predicate\nLIMIT 100"],
  ["How many statements", "SELECT (COUNT(*) AS ?statements)\nWHERE {\n  ?subject ?predicate ?object .\n}"],
  ["Labels that contain a word", "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\nSELECT ?thing ?label\nWHERE {\n  ?thing rdfs:label ?label .\n  FILTER(CONTAINS(LCASE(STR(?label)), \"graph\"))\n}\nLIMIT 50"],
  ["Named graphs", "SELECT DISTINCT ?graph\nWHERE {\n  GRAPH ?graph { ?subject ?predicate ?object }\n}\nLIMIT 100"],
  ["University: professors and their students", "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>\nSELECT ?professor ?student ?course\nWHERE {\n  ?professor ub:teacherOf ?course .\n  ?student ub:takesCourse ?course ;\n           ub:advisor ?professor .\n}\nLIMIT 100"],
  ["Is there anything?", "ASK { ?subject ?predicate ?object }"],
];
const query = byId("query"), state = byId("state"), clock = byId("clock"), problem = byId("problem");
const result = byId("result"), warnings = byId("warnings"), chosen = byId("format"), save = byId("save"), cancel = byId("cancel");
let running = null;
// What was answered last: its text, its format, and the answer itself where all of it was read.
let last = null;

const NAMES = { wait: "waited", parse: "parsed", plan: "planned", exec: "ran" };
function timings(header) {
  return (header || "").split(",").map((part) => /(\w+);dur=([\d.]+)/.exec(part)).filter(Boolean)
    .map(([, name, millis]) => `${NAMES[name] || name} ${Number(millis).toFixed(2)} ms`).join(", ");
}

// Reads SPARQL's JSON piece by piece: rows as soon as they are complete, and the text around their array,
// which begins with the variables and is a document of its own without the rows.
function jsonReader() {
  const rows = [];
  let head = null, text = "", at = 0, start = 0, depth = 0, quoted = false, ended = false;
  function scan() {
    for (; at < text.length && !ended; at += 1) {
      const code = text.charCodeAt(at);
      if (quoted) {
        if (code === 0x5c) at += 1;
        else if (code === 0x22) quoted = false;
      } else if (code === 0x22) quoted = true;
      else if (code === 0x7b) {
        if (depth === 0) start = at;
        depth += 1;
      } else if (code === 0x7d) {
        depth -= 1;
        if (depth > 0) continue;
        rows.push(JSON.parse(text.slice(start, at + 1)));
        start = at + 1;
      } else if (code === 0x5d && depth === 0) {
        ended = true;
        start = at;
      }
    }
    text = text.slice(start);
    at -= start;
    start = 0;
  }
  return {
    rows,
    variables: () => head === null ? null : JSON.parse(`${head}]}}`).head.vars,
    warnings: () => (head === null ? JSON.parse(text) : JSON.parse(`${head}]}}`)).warnings || [],
    take(piece) {
      text += piece;
      if (head === null) {
        const opening = /"bindings"\s*:\s*\[/.exec(text);
        if (!opening) return;
        head = text.slice(0, opening.index + opening[0].length);
        text = text.slice(head.length);
      }
      if (!ended) scan();
    },
    rest: () => text,
    end: () => JSON.parse((head || "") + text),
  };
}

// The views: `take` shows a piece and says whether that is enough, `seen` and `shown` say what there is.
function tableView() {
  const reader = jsonReader(), body = element("tbody"), rest = element("div", undefined, "row");
  const about = element("span", "", "hint"), more = element("button", `Show ${number(ROWS_AT_ONCE)} more`);
  const kept = () => Math.min(reader.rows.length, ROWS_KEPT);
  let variables = null, shown = 0, wanted = ROWS_AT_ONCE;
  rest.id = "rest";
  rest.append(about, more);
  more.type = "button";
  more.addEventListener("click", () => { wanted += ROWS_AT_ONCE; show(); });
  function begin() {
    variables = reader.variables();
    if (variables === null) return;
    const table = holding("table", "", headings(variables.map((name) => `?${name}`)), body);
    result.replaceChildren(scrolling(table), rest);
  }
  function show() {
    if (variables === null) begin();
    for (const end = Math.min(kept(), wanted); shown < end; shown += 1) {
      const line = element("tr");
      for (const name of variables) line.append(cell(reader.rows[shown][name]));
      body.append(line);
    }
    rest.hidden = shown === kept();
    about.textContent = `${number(shown)} of ${count(kept(), "row")} shown`;
  }
  return {
    take(piece) {
      reader.take(piece);
      show();
      return reader.rows.length > ROWS_KEPT;
    },
    end() {
      const { boolean, error } = reader.end();
      if (error !== undefined) throw new Error("the answer has an error as its last member");
      if (boolean !== undefined) result.replaceChildren(element("p", boolean ? "Yes (true)" : "No (false)"));
    },
    warnings: reader.warnings,
    seen: () => variables === null ? "" : count(kept(), "row"),
    more: "there are more",
    text: reader.rest,
  };
}

function textView() {
  const pre = element("pre");
  let text = "";
  result.replaceChildren(scrolling(pre));
  return {
    take(piece) {
      if (text.length < TEXT_SHOWN) pre.append(piece.slice(0, TEXT_SHOWN - text.length));
      text += piece;
      return text.length > TEXT_SHOWN;
    },
    end() {},
    seen: () => size(Math.min(text.length, TEXT_SHOWN)),
    more: "there is more",
    text: () => text,
  };
}

// Why an answer was broken off, where its format has room to say so at its end.
function reasonIn(text, type) {
  if (type === JSON_ROWS) {
    const member = /"error":("(?:[^"\\]|\\.)*")\s*$/.exec(text);
    return member && JSON.parse(member[1]);
  }
  if (/^text\/(csv|tab)/.test(type)) return null;
  const record = /(?:<!-- error: ([^\n]*) -->|(?:^|\n)# error: ([^\n]*))\n?$/.exec(text);
  return record && (record[1] || record[2]);
}

function brokenOff(why, view, type) {
  const reason = reasonIn(view.text(), type);
  const detail = reason ? `It was broken off: ${reason}` : `It stopped before its end, and no reason came with it (${why}).`;
  return new Failure("The answer is not whole", detail, view.seen() ? [`${view.seen()} had arrived, and what is shown is not all there is.`] : []);
}

// Reads an answer into a view; gives its pieces if that was all of it.
async function receive(response, view, type, job) {
  const reader = response.body.getReader(), decoder = new TextDecoder(), signal = job.control.signal;
  const pieces = [];
  for (let bytes = 0; ;) {
    const part = await reader.read().catch((error) => {
      throw signal.aborted ? error : brokenOff(error.message, view, type);
    });
    signal.throwIfAborted();
    if (part.done) break;
    pieces.push(part.value);
    bytes += part.value.length;
    const isFull = view.take(decoder.decode(part.value, { stream: true })) || bytes > BYTES_KEPT;
    job.seen = view.seen();
    if (!isFull) continue;
    job.control.abort();
    return null;
  }
  view.take(decoder.decode());
  try { view.end(); } catch (error) { throw brokenOff(error.message, view, type); }
  return pieces;
}

// The answer to a query; nothing where it was refused, which is shown.
async function ask(text, accept, job) {
  const headers = { "Content-Type": "application/sparql-query", "Accept": accept, ...credentials() };
  const signal = job.control.signal;
  const response = await fetch("/sparql", { method: "POST", body: text, signal, headers }).catch((error) => {
    throw signal.aborted ? error : new Failure("No answer came", `The server could not be reached, or the connection ended (${error.message}).`);
  });
  if (response.ok) return response;
  showServersProblem(problem, (await refusalOf(response)).body, text, query);
  offerRegistering(text);
  state.textContent = `Failed after ${time(performance.now() - job.begun)}.`;
  return null;
}

// Does one thing at a time, with a clock, until it ends or is cancelled.
async function doing(what, work) {
  if (running) running.control.abort();
  const job = { control: new AbortController(), begun: performance.now(), seen: "" };
  running = job;
  problem.hidden = true;
  warnings.hidden = true;
  state.textContent = what;
  cancel.disabled = false;
  const tick = () => {
    const seconds = `${((performance.now() - job.begun) / 1000).toFixed(1)} s`;
    clock.textContent = job.seen ? `${seconds} · ${job.seen}` : seconds;
  };
  tick();
  const ticking = setInterval(() => running === job && tick(), 100);
  try {
    await work(job);
  } catch (error) {
    if (running === job) failed(error, job);
  } finally {
    clearInterval(ticking);
    if (running === job) {
      running = null;
      clock.textContent = "";
      cancel.disabled = true;
    }
  }
}

function failed(error, job) {
  const after = `after ${time(performance.now() - job.begun)}`;
  if (error.name === "AbortError") {
    state.textContent = `Cancelled ${after}${job.seen && `, with ${job.seen}`}.`;
    return;
  }
  state.textContent = `Failed ${after}.`;
  showFailure(problem, error, query.value, query);
}

// Both kinds of answers are taken: only the server tells the form of a query.
const accepted = (type) => [...new Set([type || JSON_ROWS, `${JSON_ROWS};q=0.5`, `${TURTLE};q=0.5`])].join(", ");

const run = () => doing("Running…", async (job) => {
  const text = query.value, format = chosen.value;
  last = null;
  save.hidden = true;
  result.replaceChildren();
  history.replaceState(null, "", `#query=${encodeURIComponent(text)}`);
  const response = await ask(text, accepted(format), job);
  if (!response) return;
  const type = (response.headers.get("Content-Type") || "").split(";")[0].trim();
  const isTable = type === JSON_ROWS && format !== JSON_ROWS;
  const view = isTable ? tableView() : textView();
  last = { text, type, pieces: null };
  last.pieces = await receive(response, view, type, job);
  save.hidden = false;
  const told = isTable ? view.warnings() : [];
  const silent = Number(response.headers.get("Somersault-Warnings") || 0) - told.length;
  if (silent > 0) told.push(`${count(silent, "warning")}, which a table shows`);
  warnings.replaceChildren(...told.map((warning) => element("li", warning)));
  warnings.hidden = told.length === 0;
  const what = [last.pieces ? view.seen() : `The first ${view.seen()}; ${view.more}`, isTable ? "" : formatOf(type).label,
    `${time(performance.now() - job.begun)} in all`, timings(response.headers.get("Server-Timing"))];
  state.textContent = `${what.filter(Boolean).join(" · ")}.`;
});

function keep(address, format) {
  const link = element("a");
  link.href = address;
  link.download = `answer.${format.ending}`;
  link.click();
}

function keepBlob(blob, format) {
  const address = URL.createObjectURL(blob);
  keep(address, format);
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// The format that is chosen, where it is one for this kind of answer; else the one that was shown.
function formatSaved() {
  const shown = formatOf(last.type), wanted = formatOf(chosen.value);
  return wanted && wanted.kind === shown.kind ? wanted : shown;
}

function saveAnswer() {
  const format = formatSaved();
  if (last.pieces && format.type === last.type) {
    keepBlob(new Blob(last.pieces, { type: format.type }), format);
    return;
  }
  const address = `/sparql?query=${encodeURIComponent(last.text)}&format=${encodeURIComponent(format.type)}`;
  if (!token.value && address.length <= ADDRESS_MAX) {
    keep(address, format);
    state.textContent = "The browser saves the answer.";
    return;
  }
  // A link has neither a token nor room for a long query. The browser keeps what comes out of this page's sight.
  const text = last.text;
  doing("Fetching all of the answer…", async (job) => {
    const response = await ask(text, format.type, job);
    if (!response) return;
    const blob = await response.blob().catch((error) => {
      throw job.control.signal.aborted ? error : new Failure("The answer is not whole", `It was broken off, so nothing is saved (${error.message}).`);
    });
    keepBlob(blob, format);
    state.textContent = `Saved ${size(blob.size)} of ${format.label}.`;
  });
}

byId("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
cancel.addEventListener("click", () => running && running.control.abort());
save.addEventListener("click", saveAnswer);
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
for (const [kind, label] of [["rows", "Rows"], ["graph", "Graph (CONSTRUCT, DESCRIBE)"]]) {
  const group = element("optgroup");
  group.label = label;
  for (const format of FORMATS.filter((format) => format.kind === kind)) {
    const option = element("option", format.label);
    option.value = format.type;
    group.append(option);
  }
  chosen.append(group);
}
for (const [name, text] of EXAMPLES) {
  const option = element("option", name);
  option.value = text;
  byId("example").append(option);
}
byId("example").addEventListener("change", (event) => {
  if (event.target.value) query.value = event.target.value;
  event.target.value = "";
  query.focus();
});
