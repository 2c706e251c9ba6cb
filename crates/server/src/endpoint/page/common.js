// What all views have in common: elements, figures in words, terms, problems, requests and their token.

const byId = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// An element with others in it; what is null is left out.
function holding(name, className, ...children) {
  const made = element(name, undefined, className);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Sets a text only where it differs: what stands still is not drawn again.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Marks an element with a class, or takes it away.
const mark = (node, name, isSo) => node.classList.toggle(name, Boolean(isSo));

function button(text, act, className) {
  const made = element("button", text, className);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

// A button that asks once more before it acts; it forgets that when it is left alone.
function confirmed(text, again, act) {
  let forget = 0;
  const calm = () => { clearTimeout(forget); say(made, text); mark(made, "danger", false); made.dataset.asked = ""; };
  const made = button(text, () => {
    if (made.dataset.asked) { calm(); act(); return; }
    made.dataset.asked = "yes";
    say(made, again);
    mark(made, "danger", true);
    forget = setTimeout(calm, 5000);
  });
  made.addEventListener("blur", calm);
  return made;
}

const number = (value) => value.toLocaleString("en");
const count = (value, word) => `${number(value)} ${word}${value === 1 ? "" : "s"}`;

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1048576) return `${(bytes / 1024).toFixed(1)} KiB`;
  if (bytes < 1073741824) return `${(bytes / 1048576).toFixed(1)} MiB`;
  return `${(bytes / 1073741824).toFixed(1)} GiB`;
}

const time = (millis) => millis < 1000 ? `${Math.round(millis)} ms` : `${number(Math.round(millis / 10) / 100)} s`;

// A span of some milliseconds up to years, as long as a person wants to read it.
function span(millis) {
  const units = [["day", 86400000], ["h", 3600000], ["min", 60000]];
  for (const [unit, length] of units) {
    if (millis >= 2 * length) {
      const whole = Math.round(millis / length);
      return unit === "day" ? count(whole, "day") : `${whole} ${unit}`;
    }
  }
  return millis < 9950 ? `${(Math.max(millis, 0) / 1000).toFixed(1)} s` : `${Math.round(millis / 1000)} s`;
}

// A length that somebody has set: `100 ms`, `10 s`, `5 min`.
function lengthWords(millis) {
  for (const [unit, one] of [["h", 3600000], ["min", 60000], ["s", 1000]]) {
    if (millis >= one && millis % one === 0) return `${number(millis / one)} ${unit}`;
  }
  return `${number(millis)} ms`;
}

// A moment by the clock of whoever looks at it, with its day where that is another one.
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });
function moment(millis, withMillis) {
  if (millis > 8.64e15) return `${number(millis)} ms`;
  const at = new Date(millis);
  const day = Math.abs(Date.now() - millis) < 43200000 ? "" : `${DAY.format(at)} `;
  const part = withMillis ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
  return `${day}${CLOCK.format(at)}${part}`;
}

function amount(value, unit) {
  if (unit === "ms") return time(value);
  return unit === "bytes" ? size(value) : number(value);
}

// A failure with words of its own; others are this page's.
class Failure extends Error {
  constructor(title, detail, more = []) {
    super(detail);
    Object.assign(this, { title, more });
  }
}

// A server's refusal: its problem document.
class Refusal extends Error {
  constructor(body) {
    super(body.detail || body.title || `status ${body.status}`);
    Object.assign(this, { body });
  }
}

function showProblem(box, title, detail, more) {
  box.replaceChildren(element("h2", title), element("p", detail));
  for (const line of more) box.append(element("p", line));
  box.hidden = false;
}

// Shows a refusal in a box; `area`: the field with the text that it may name a place of.
function showServersProblem(box, body, text, area) {
  const more = [];
  if (body.hint) more.push(body.hint);
  if (body.limit !== undefined) {
    more.push(`Limit: ${amount(body.limit, body.unit)}` + (body.used !== undefined ? `, used: ${amount(body.used, body.unit)}` : ""));
  }
  for (const also of body.further || []) more.push(`Line ${also.position.line}, column ${also.position.column}: ${also.detail}`);
  if (body.query_id) more.push(`Query ${body.query_id}`);
  if (body.status === 401) more.push("Enter one in the field Access token, then try again.");
  showProblem(box, body.title || "This failed", body.detail || "", more);
  if (body.status === 401) askForToken();
  if (!body.position || !area) return;
  const { line, column } = body.position;
  const lines = text.split("\n");
  const at = element("pre", `${lines[line - 1] || ""}\n${" ".repeat(column - 1)}^ line ${line}, column ${column}`);
  box.insertBefore(at, box.children[2] || null);
  let start = 0;
  for (let before = 0; before < line - 1 && before < lines.length; before += 1) start += lines[before].length + 1;
  start = Math.min(start + column - 1, text.length);
  area.focus();
  area.setSelectionRange(start, Math.min(start + 1, text.length));
}

// Shows what went wrong, whatever it was.
function showFailure(box, error, text, area) {
  if (error instanceof Refusal) showServersProblem(box, error.body, text, area);
  else if (error instanceof Failure) showProblem(box, error.title, error.message, error.more);
  else showProblem(box, "This page failed", `What came could not be shown: ${error.message}`, []);
}

const token = byId("token");
function askForToken() {
  byId("access").open = true;
  token.focus();
}

// The fields that say who asks.
function credentials() {
  const secret = token.value.trim();
  if (!/^[\w.~+\/=-]*$/.test(secret)) {
    throw new Failure("This is not a token", "A token has letters, digits and - . _ ~ + / = only.");
  }
  return secret ? { Authorization: `Bearer ${secret}` } : {};
}

async function refusalOf(response) {
  const body = await response.text();
  let told;
  try { told = JSON.parse(body); } catch { told = { title: `Status ${response.status}`, detail: body }; }
  told.status = response.status;
  return new Refusal(told);
}

// Asks our own JSON; gives what it answers. `patience`: how long that may take (milliseconds).
async function call(method, address, { body, type = "application/json", patience = 15000 } = {}) {
  const headers = { Accept: "application/json", ...credentials() };
  if (body !== undefined) headers["Content-Type"] = type;
  const signal = AbortSignal.timeout(patience);
  let response;
  try {
    response = await fetch(address, { method, headers, body, signal });
  } catch (error) {
    throw new Failure("No answer came", `The server could not be reached, or the connection ended (${error.message}).`);
  }
  if (!response.ok) throw await refusalOf(response);
  return response.status === 204 ? null : response.json();
}

// An IRI with its last part apart, which is what tells it from its neighbours. A table that is folded shows that alone
// (by its style: what is copied is whole).
function iri(value) {
  const cut = Math.max(value.lastIndexOf("/"), value.lastIndexOf("#"), value.startsWith("urn:") ? value.lastIndexOf(":") : -1) + 1;
  if (cut === 0 || cut === value.length) return [`<${value}>`];
  const space = element("span", `<${value.slice(0, cut)}`, "tag space");
  space.dataset.end = value[cut - 1];
  return [space, element("wbr"), element("span", value.slice(cut), "local"), element("span", ">", "tag space-end")];
}

const isNumeric = (term) => /#(integer|decimal|double|float|long|int|short|byte|nonNegativeInteger)$/.test(term.datatype || "");

// Fills a cell of a table with a term.
function fill(made, term) {
  made.className = "";
  if (!term) { made.replaceChildren(); made.className = "unbound"; return made; }
  if (term.type === "triple") {
    const part = (inner) => cell(inner).textContent;
    made.textContent = `<< ${part(term.value.subject)} ${part(term.value.predicate)} ${part(term.value.object)} >>`;
  } else if (term.type === "uri") made.replaceChildren(...iri(term.value));
  else if (term.type === "bnode") made.textContent = `_:${term.value}`;
  else if (isNumeric(term)) { made.textContent = term.value; made.className = "number"; } else {
    const tag = term["xml:lang"] ? `@${term["xml:lang"]}` : "";
    const datatype = (term.datatype || "").replace("http://www.w3.org/2001/XMLSchema#", "xsd:");
    made.textContent = term.value;
    if (tag || datatype) made.append(element("span", tag || ` ^^${datatype}`, "tag"));
  }
  return made;
}

const cell = (term) => fill(element("td"), term);

function scrolling(content) {
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.append(content);
  return scroll;
}

// The head of a table.
function headings(names) {
  const line = element("tr");
  for (const name of names) {
    const title = element("th", name);
    title.scope = "col";
    line.append(title);
  }
  return holding("thead", "", line);
}

function showContents() {
  const headers = token.value ? { Authorization: `Bearer ${token.value.trim()}` } : {};
  fetch("/api/v1/statistics", { headers }).then((response) => response.json()).then((now) => {
    byId("contents").textContent = now.quads === undefined ? ""
      : `${count(now.quads, "statement")}, ${count(now.terms, "term")}, ${count(now.predicates, "predicate")} · version ${now.version}`;
  }).catch(() => {});
}

// Where a browser keeps nothing for pages, the field has the token until the page is left.
const KEPT = "token";
try { token.value = sessionStorage.getItem(KEPT) || ""; } catch { /* kept nowhere */ }
token.addEventListener("input", () => {
  try { sessionStorage.setItem(KEPT, token.value); } catch { /* kept nowhere */ }
});
token.addEventListener("change", showContents);

// A link that somebody cut short is shown as it is.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
